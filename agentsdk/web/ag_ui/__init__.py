"""AG-UI, the protocol between agents and front ends (https://docs.ag-ui.com), version 1.0: its requests, and its events."""
