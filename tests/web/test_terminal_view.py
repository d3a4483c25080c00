"""The terminal of a process on the page: a real shell started by a real runner."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from functools import partial

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.runner.processes import until
from tests.runner.tool_tasks.kit import TaskDesk
from tests.web.conftest import Visit, World, axe, fits_a_phone, send
from tests.web.test_shell import REFUSAL, settled

BY = "\N{MULTIPLICATION SIGN}"
SHELL = "PS1='$ ' PS2='> ' bash --norc -i"
QUERIES = r"\e[c\e[>c\e[=c\e[5n\e[6n\e[?6n\e[?25\$p\e[>q\e]10;?\a\e]11;?\a\e]4;1;?\a\eP\$qm\e\\"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TaskDesk]:
    made = TaskDesk(tmp_path_factory.mktemp("desk"))
    made.runner("r1")
    yield made
    left = [task["task_id"] for task in made("tool.task_list", status="active")["tasks"]]
    for task in left:  # all at once: a shell ignores TERM, and each gets a grace period
        made("tool.task_cancel", task_id=task)
    for task in left:
        made.ended(task)
    made.close()


@pytest.fixture
def world(desk: TaskDesk) -> World:
    return World(desk.served, "acme")


@pytest.fixture
def shell(desk: TaskDesk) -> str:
    task = desk.bash(SHELL, execution_mode="pty")
    until(lambda: b"$ " in desk.log(task, "pty"), "the shell is ready")
    desk.await_task(task, "running")
    return task


def screen(page: Page) -> Locator:
    return page.get_by_role("region", name="Terminal").locator(".xterm-rows")


def typed(desk: TaskDesk, task: str, text: str) -> None:
    chunk = base64.b64encode(text.encode()).decode()
    desk("tool.task_write_stdin", task_id=task, chunk_b64=chunk)


def test_a_person_types_into_a_running_shell_and_gives_the_keyboard_back(
    desk: TaskDesk, shell: str, visit: Visit
) -> None:
    typed(desk, shell, "echo before\n")
    page = visit(f"/processes/{shell}")
    expect(screen(page)).to_contain_text("before")
    terminal = page.get_by_role("region", name="Terminal")
    expect(terminal).to_contain_text(f"80 {BY} 24")
    send(page, terminal.get_by_role("button", name="Take keyboard"), "tool.task_resize")
    page.keyboard.type("echo $((6*7)) wörld; stty size")
    page.keyboard.press("Enter")
    expect(screen(page)).to_contain_text("42 wörld")
    rows, cols = terminal.get_by_role("status").inner_text().split(" · ")[1].split(f" {BY} ")[::-1]
    expect(screen(page)).to_contain_text(f"{rows} {cols}")
    page.keyboard.press("Control+]")
    expect(terminal.get_by_role("button", name="Take keyboard")).to_be_focused()
    page.keyboard.type("nobody")
    typed(desk, shell, "echo last\n")
    expect(screen(page)).to_contain_text("last")
    expect(screen(page)).not_to_contain_text("nobody")
    page.get_by_role("button", name="As text").click()
    text = page.get_by_role("document", name="The terminal as text")
    expect(text).to_contain_text("last")
    assert text.inner_text().splitlines().count("before") == 1  # nothing is shown twice


def test_the_keyboard_is_held_until_the_focus_goes_elsewhere(shell: str, visit: Visit) -> None:
    page = visit(f"/processes/{shell}")
    terminal = page.get_by_role("region", name="Terminal")
    button = terminal.get_by_role("button", name="Take keyboard")
    held = terminal.get_by_text("You have the keyboard")
    send(page, button, "tool.task_resize")
    expect(held).to_be_visible()
    page.get_by_label("Find in the terminal").click()
    expect(held).to_have_count(0)
    expect(page.get_by_label("Find in the terminal")).to_be_focused()
    send(page, button, "tool.task_resize")
    page.keyboard.press("Control+5")
    expect(button).to_be_focused()
    send(page, button, "tool.task_resize")
    terminal.get_by_role("button", name="Release keyboard").click()
    expect(held).to_have_count(0)


def test_keys_are_sent_though_the_size_was_refused(shell: str, visit: Visit) -> None:
    page = visit(f"/processes/{shell}")
    terminal = page.get_by_role("region", name="Terminal")
    asked: list[Route] = []

    def hold_the_first(route: Route) -> None:
        asked.append(route)
        if len(asked) > 1:
            route.fulfill(status=403, json=REFUSAL)

    page.route("**/call/tool.task_resize*", hold_the_first)
    terminal.get_by_role("button", name="Take keyboard").click()
    expect(terminal.get_by_text("You have the keyboard")).to_be_visible()
    page.keyboard.type("echo ke''pt")
    page.keyboard.press("Enter")
    until(lambda: bool(page.evaluate("1") and asked), "the size was sent")
    asked[0].fulfill(status=403, json=REFUSAL)
    expect(page.get_by_role("alert")).to_contain_text("Not today.")
    expect(screen(page)).to_contain_text("kept")


def test_keys_typed_while_a_request_is_under_way_go_together_and_in_order(
    desk: TaskDesk, shell: str, visit: Visit
) -> None:
    page = visit(f"/processes/{shell}")
    terminal = page.get_by_role("region", name="Terminal")
    send(page, terminal.get_by_role("button", name="Take keyboard"), "tool.task_resize")
    held: list[Route] = []
    sent: list[str] = []

    def hold(route: Route) -> None:
        asked = route.request.post_data_json
        assert asked
        sent.append(base64.b64decode(asked["chunk_b64"]).decode())
        held.append(route)
        if len(held) > 1:
            route.continue_()

    page.route("**/call/tool.task_write_stdin*", hold)
    page.keyboard.type("echo ab")
    page.keyboard.type("cdef")
    until(lambda: bool(page.evaluate("1") and held), "the first key was sent")
    page.keyboard.press("Enter")
    held[0].continue_()
    expect(screen(page)).to_contain_text("abcdef")
    assert "".join(sent) == "echo abcdef\r"
    assert len(sent) == 2


def test_the_page_answers_none_of_the_questions_that_a_program_asks_a_terminal(
    desk: TaskDesk, shell: str, visit: Visit
) -> None:
    page = visit(f"/processes/{shell}")
    terminal = page.get_by_role("region", name="Terminal")
    send(page, terminal.get_by_role("button", name="Take keyboard"), "tool.task_resize")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    typed(desk, shell, f"printf '{QUERIES}'; echo asked\n")
    expect(screen(page)).to_contain_text("asked")
    typed(desk, shell, "echo quiet\n")
    expect(screen(page)).to_contain_text("quiet")
    assert not [url for url in asked if "write_stdin" in url]


def _has_printed(desk: TaskDesk, task: str, text: bytes) -> bool:
    return text in desk.log(task, "pty")


def test_a_terminal_that_has_ended_is_replayed_at_any_speed_and_moment(
    desk: TaskDesk, visit: Visit
) -> None:
    task = desk.bash(
        r"printf '\e[?1049hone '; read -rs; printf '\e[2J\e[Htwo '; read -rs; "
        r"printf '\e[?1049l'; echo three",
        execution_mode="pty",
    )
    desk.await_task(task, "running")
    for shown in (b"one ", b"two "):
        until(partial(_has_printed, desk, task, shown), f"it shows {shown!r}")
        typed(desk, task, "\n")
    desk.ended(task)
    page = visit(f"/processes/{task}")
    expect(screen(page)).to_contain_text("three")
    moment = page.get_by_label("Replay position")
    moment.press("Home")
    expect(screen(page)).to_contain_text("one")
    expect(screen(page)).not_to_contain_text("three")
    page.get_by_label("Speed").select_option("4")
    page.get_by_role("button", name="Replay").click()
    expect(screen(page)).to_contain_text("three")
    expect(page.get_by_role("button", name="Replay")).to_be_visible()
    expect(page.get_by_role("button", name="Take keyboard")).to_have_count(0)


def test_a_recording_is_saved_as_the_file_that_others_get(desk: TaskDesk, visit: Visit) -> None:
    task = desk.bash("echo to keep", execution_mode="pty")
    desk.ended(task)
    page = visit(f"/processes/{task}")
    for button, query, ending in (
        ("Save recording", "", "jsonl"),
        ("Save as asciicast", "?format=asciicast", "cast"),
    ):
        with page.expect_download() as saved:
            page.get_by_role("button", name=button).click()
        assert saved.value.suggested_filename == f"{task}.{ending}"
        file = desk.served.http.get(f"/tasks/{task}/recording{query}").content
        assert b"to keep" in file
        assert saved.value.path().read_bytes() == file
    page.route("**/recording?*", lambda route: route.fulfill(status=404, json=REFUSAL))
    page.get_by_role("button", name="Save recording").click()
    expect(page.get_by_role("alert")).to_contain_text("Not today.")


def test_a_terminal_is_also_text_and_searched_and_has_no_barrier(
    desk: TaskDesk, shell: str, visit: Visit
) -> None:
    typed(desk, shell, "for i in $(seq 200); do echo row $i; done\n")
    typed(desk, shell, r"printf '\e[38;2;1;2;3mtrue colour\e[0m\n'" + "\n")
    page = visit(f"/processes/{shell}")
    expect(screen(page)).to_contain_text("row 200")
    page.get_by_label("Find in the terminal").fill("row 17")
    expect(screen(page)).to_contain_text("row 17")
    page.get_by_label("Find in the terminal").fill("no such thing")
    expect(page.get_by_text("Not found")).to_be_visible()
    page.get_by_role("button", name="As text").click()
    text = page.get_by_role("document", name="The terminal as text")
    expect(text).to_contain_text("row 1\nrow 2\n")
    typed(desk, shell, "echo told\n")
    expect(text).to_contain_text("told")
    page.get_by_role("button", name="As text").click()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert axe(page) == []
    fits_a_phone(page)


def test_whoever_comes_late_sees_the_screen_as_it_is_with_what_lies_under_it(
    desk: TaskDesk, shell: str, visit: Visit
) -> None:
    typed(desk, shell, "echo under; printf '\\033[?1049h\\033[2J\\033[5;9Hinside '\n")
    until(lambda: b"\x1b[5;9H" in desk.log(shell, "pty"), "it shows the other screen")
    page = visit(f"/processes/{shell}")
    expect(screen(page)).to_contain_text("inside")
    expect(screen(page)).not_to_contain_text("under")
    typed(desk, shell, "printf '\\033[?1049lback '\n")
    expect(screen(page)).to_contain_text("under")
    expect(screen(page)).to_contain_text("back")


def test_a_view_that_falls_far_behind_takes_the_screen_anew(
    desk: TaskDesk, shell: str, visit: Visit
) -> None:
    page = visit(f"/processes/{shell}")
    expect(screen(page)).to_contain_text("$")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/call/tool.output_fetch*", hold)
    typed(desk, shell, "seq 1 300000; echo all of it\n")
    until(lambda: b"\r\nall of it" in desk.log(shell, "pty"), "the flood is over")
    page.unroute("**/call/tool.output_fetch*")
    for route in held:
        route.continue_()
    expect(screen(page)).to_contain_text("300000")
    expect(screen(page)).to_contain_text("all of it")
    assert [url for url in asked if "task_snapshot" in url]


def test_the_past_of_a_terminal_is_what_it_had_shown_by_then(
    desk: TaskDesk, shell: str, visit: Visit
) -> None:
    typed(desk, shell, "echo fir''st; echo\n")
    until(lambda: b"first" in desk.log(shell, "pty"), "it has echoed")
    until(lambda: "first" in str(desk.frames(shell)), "and that is recorded")
    moment = desk("status")["seq"]
    typed(desk, shell, "echo sec''ond; echo\n")
    until(lambda: "second" in str(desk.frames(shell)), "more is recorded")
    page = visit(f"/processes/{shell}", as_of=str(moment))
    expect(screen(page)).to_contain_text("first")
    expect(screen(page)).not_to_contain_text("second")
    expect(page.get_by_role("button", name="Take keyboard")).to_have_count(0)
    page.get_by_role("link", name="Back to now").click()
    expect(screen(page)).to_contain_text("second")


def test_another_moment_at_which_a_terminal_showed_the_same_shows_it_again(
    desk: TaskDesk, shell: str, visit: Visit
) -> None:
    typed(desk, shell, "echo fir''st; echo\n")
    until(lambda: "first" in str(desk.frames(shell)), "it is recorded")
    moment = desk("status")["seq"]
    for _ in range(3):
        desk("vcs.notes.commit", content="Tabs stay.")
    page = visit(f"/processes/{shell}", as_of=str(moment))
    expect(screen(page)).to_contain_text("first")
    for key, at in (("ArrowRight", moment + 1), ("ArrowLeft", moment)):
        with page.expect_response("**/call/tool.task_stream_events*"):
            page.get_by_label("Rewind").press(key)
        page.wait_for_url(f"**as_of={at}")
        settled(page)
        expect(screen(page)).to_contain_text("first")


def test_what_a_program_prints_stays_in_its_terminal(
    desk: TaskDesk, shell: str, visit: Visit
) -> None:
    attack = r"\033]0;owned\007\033]52;c;b3duZWQ=\007\033[21t\033]8;;javascript:alert(1)\033\134x"
    page = visit(f"/processes/{shell}")
    expect(screen(page)).to_contain_text("$")
    typed(desk, shell, f"printf '{attack}<script>alert(1)</script> <img src=x> e''nd '\n")
    expect(screen(page)).to_contain_text("<script>alert(1)</script> <img src=x> end")
    expect(page).to_have_title("Processes · Longhouse")
    assert page.locator(".xterm img, .xterm script").count() == 0
    assert page.evaluate("location.pathname") == f"/processes/{shell}"


def test_a_signal_reaches_the_program_and_who_did_not_start_it_only_looks_on(
    desk: TaskDesk, world: World, shell: str, visit: Visit
) -> None:
    typed(desk, shell, "trap 'echo heard' USR1; trap 'echo hup' HUP; echo set\n")
    for role in ("viewer", "agent"):
        token, _ = world.house.new_token(role)
        other = visit(f"/processes/{shell}", token=token)
        expect(screen(other)).to_contain_text("set")
        expect(other.get_by_role("button", name="Take keyboard")).to_have_count(0)
        expect(other.get_by_label("Send a signal")).to_have_count(0)
        other.close()
    page = visit(f"/processes/{shell}", token=world.house.token)
    with page.expect_response("**/call/tool.task_signal*"):
        page.get_by_label("Send a signal").select_option("Hang up (HUP)")
    expect(screen(page)).to_contain_text("hup")
