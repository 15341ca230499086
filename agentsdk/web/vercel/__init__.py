"""The UI message stream of the Vercel AI SDK (npm `ai`), version 1: its requests, and its chunks."""
