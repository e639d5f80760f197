"""The steps of each flow, in a module or folder of the flow's name: find, ask, plan, commit."""
