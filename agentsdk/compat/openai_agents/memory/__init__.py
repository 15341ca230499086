"""Sessions: conversations that outlive their runs, as lists of dicts."""

from agentsdk.compat.openai_agents.memory.openai_conversations_session import (
    OpenAIConversationsSession as OpenAIConversationsSession,
)
from agentsdk.compat.openai_agents.memory.openai_responses_compaction_session import (
    OpenAIResponsesCompactionSession as OpenAIResponsesCompactionSession,
)
from agentsdk.compat.openai_agents.memory.session import OpenAIResponsesCompactionArgs as OpenAIResponsesCompactionArgs
from agentsdk.compat.openai_agents.memory.session import (
    OpenAIResponsesCompactionAwareSession as OpenAIResponsesCompactionAwareSession,
)
from agentsdk.compat.openai_agents.memory.session import Session as Session
from agentsdk.compat.openai_agents.memory.session import SessionABC as SessionABC
from agentsdk.compat.openai_agents.memory.session import (
    is_openai_responses_compaction_aware_session as is_openai_responses_compaction_aware_session,
)
from agentsdk.compat.openai_agents.memory.session_settings import SessionSettings as SessionSettings
from agentsdk.compat.openai_agents.memory.sqlite_session import SQLiteSession as SQLiteSession
from agentsdk.compat.openai_agents.run_config import SessionInputCallback as SessionInputCallback
