"""The test suite. Folders mirror the rooms of `src/longhouse`."""
