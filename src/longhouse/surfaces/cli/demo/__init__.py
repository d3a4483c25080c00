"""A day in a throwaway store: shows Longhouse at work before any client is connected.

`stage.py` sets up the store, its server and the runners, and removes them; `day.py` is what two
agents and a lead do there; `agent.py` is the program that the runners start instead of a model.
Everyone acts through the SDK, the runner or MCP, as in real use.
"""
