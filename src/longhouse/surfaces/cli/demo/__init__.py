"""A day in a throwaway house: Longhouse at work, before anything is connected to it.

`stage.py` sets up the store, its server and the runners, and takes them down; `day.py` is what two
agents and a lead do there; `agent.py` is the program that the runners start in place of a model.
Everybody acts through the SDK, the runner or MCP, as they would in earnest.
"""
