"""The public names of openai-agents 0.24, by module: a fact, which `make compat` checks against its source distribution.

Of what is absent as a whole (sandboxes, speech, experiments) only the names that a package lists.
"""

from __future__ import annotations

_TEXT: dict[str, str] = {
    "": (
        "Agent AgentBase AgentHookContext AgentHooks AgentOutputSchema AgentOutputSchemaBase AgentSpanData "
        "AgentToolInvocation AgentToolStreamEvent AgentUpdatedStreamEvent AgentsException ApplyPatchEditor "
        "ApplyPatchOperation ApplyPatchResult ApplyPatchTool ApplyPatchToolCustomDataContext "
        "ApplyPatchToolCustomDataExtractor AsyncComputer Button CodeInterpreterTool CompactionItem Computer ComputerProvider "
        "ComputerTool ComputerToolCustomDataContext ComputerToolCustomDataExtractor CustomSpanData CustomTool "
        "CustomToolCustomDataContext CustomToolCustomDataExtractor DynamicPromptFunction Environment FileSearchTool "
        "FunctionSpanData FunctionTool FunctionToolCustomDataContext FunctionToolCustomDataExtractor FunctionToolResult "
        "GenerateDynamicPromptData GenerationSpanData GuardrailFunctionOutput GuardrailSpanData Handoff HandoffCallItem "
        "HandoffInputData HandoffInputFilter HandoffOutputItem HandoffSpanData HostedMCPTool ImageGenerationTool "
        "ImageGenerationToolConfig InputGuardrail InputGuardrailResult InputGuardrailTripwireTriggered InputItem ItemHelpers "
        "LocalShellCommandRequest LocalShellExecutor LocalShellTool MCPApprovalRequestItem MCPApprovalResponseItem "
        "MCPListToolsItem MCPListToolsSpanData MCPToolApprovalFunction MCPToolApprovalFunctionResult MCPToolApprovalRequest "
        "MCPToolCancellationError MaxTurnsExceeded MessageOutputItem Model ModelBehaviorError ModelProvider ModelRefusalError "
        "ModelResponse ModelRetryAdvice ModelRetryAdviceRequest ModelRetryBackoffSettings ModelRetryNormalizedError "
        "ModelRetrySettings ModelSettings ModelTimeoutError ModelTracing MultiProvider OpenAIAgentRegistrationConfig "
        "OpenAIChatCompletionsModel OpenAIConversationsSession OpenAIProvider OpenAIResponsesCompactionArgs "
        "OpenAIResponsesCompactionAwareSession OpenAIResponsesCompactionSession OpenAIResponsesModel OpenAIResponsesWSModel "
        "OpenAIResponsesWebSocketOptions OutputGuardrail OutputGuardrailBlockedMessageArgs "
        "OutputGuardrailBlockedMessageFormatter OutputGuardrailResult OutputGuardrailTripwireTriggered "
        "ProgrammaticToolCallingTool Prompt RawResponsesStreamEvent ReasoningItem ReasoningItemIdPolicy ResponseSpanData "
        "ResponsesWebSocketSession RetryDecision RetryPolicy RetryPolicyContext RunConfig RunContextWrapper RunErrorData "
        "RunErrorDetails RunErrorHandler RunErrorHandlerInput RunErrorHandlerResult RunErrorHandlers RunHooks RunItem "
        "RunItemStreamEvent RunResult RunResultStreaming RunState Runner SQLiteSession Session SessionABC SessionSettings "
        "ShellActionRequest ShellCallData ShellCallOutcome ShellCommandOutput ShellCommandRequest ShellExecutor ShellResult "
        "ShellTool ShellToolContainerAutoEnvironment ShellToolContainerNetworkPolicy ShellToolContainerNetworkPolicyAllowlist "
        "ShellToolContainerNetworkPolicyDisabled ShellToolContainerNetworkPolicyDomainSecret "
        "ShellToolContainerReferenceEnvironment ShellToolContainerSkill ShellToolEnvironment ShellToolHostedEnvironment "
        "ShellToolInlineSkill ShellToolInlineSkillSource ShellToolLocalEnvironment ShellToolLocalSkill "
        "ShellToolSkillReference Span SpanData SpanError SpeechGroupSpanData SpeechSpanData StopAtTools StreamEvent TContext "
        "TResponseInputItem TaskSpanData Tool ToolApprovalItem ToolCallItem ToolCallOutputItem ToolCaller ToolErrorFormatter "
        "ToolErrorFormatterArgs ToolExecutionConfig ToolGuardrailFunctionOutput ToolInputGuardrail ToolInputGuardrailData "
        "ToolInputGuardrailResult ToolInputGuardrailTripwireTriggered ToolNameCollisionPolicy ToolNotFoundBehavior ToolOrigin "
        "ToolOriginType ToolOutputFileContent ToolOutputFileContentDict ToolOutputGuardrail ToolOutputGuardrailData "
        "ToolOutputGuardrailResult ToolOutputGuardrailTripwireTriggered ToolOutputImage ToolOutputImageDict ToolOutputText "
        "ToolOutputTextDict ToolSearchCallItem ToolSearchOutputItem ToolSearchTool ToolTimeoutError "
        "ToolsToFinalOutputFunction ToolsToFinalOutputResult Trace TracingProcessor TranscriptionSpanData TurnSpanData Usage "
        "UserError WebSearchTool WebSearchToolImageSettings add_trace_processor agent_span apply_diff custom_span "
        "default_handoff_history_mapper default_tool_error_function dispose_resolved_computers enable_verbose_stdout_logging "
        "flush_traces function_span function_tool gen_span_id gen_trace_id generation_span get_conversation_history_wrappers "
        "get_current_span get_current_trace guardrail_span handoff handoff_span input_guardrail "
        "is_openai_responses_compaction_aware_session mcp_tools_span nest_handoff_history output_guardrail "
        "reset_conversation_history_wrappers resolve_computer response_span responses_websocket_session retry_policies "
        "run_demo_loop sandbox set_conversation_history_wrappers set_default_openai_agent_registration set_default_openai_api "
        "set_default_openai_client set_default_openai_harness set_default_openai_key set_default_openai_responses_transport "
        "set_trace_processors set_trace_provider set_tracing_disabled set_tracing_export_api_key speech_group_span "
        "speech_span task_span tool_input_guardrail tool_namespace tool_output_guardrail trace transcription_span turn_span"
    ),
    "agent": "Agent AgentBase AgentToolStreamEvent MCPConfig StopAtTools ToolsToFinalOutputFunction ToolsToFinalOutputResult",
    "agent_output": "AgentOutputSchema AgentOutputSchemaBase",
    "agent_tool_input": (
        "AgentAsToolInput STRUCTURED_INPUT_PREAMBLE StructuredInputSchemaInfo StructuredToolInputBuilder "
        "StructuredToolInputBuilderOptions StructuredToolInputResult build_structured_input_schema_info "
        "default_tool_input_builder is_agent_tool_input resolve_agent_tool_input"
    ),
    "agent_tool_state": (
        "ScopedToolCallObject ScopedToolCallSignature ToolCallSignature agent_tool_resume_checkpoint_owns_approval "
        "consume_agent_tool_run_result drop_agent_tool_run_result get_agent_tool_resume_state get_agent_tool_state_scope "
        "peek_agent_tool_run_result record_agent_tool_resume_state record_agent_tool_run_result set_agent_tool_state_scope"
    ),
    "apply_diff": "apply_diff",
    "computer": "AsyncComputer Button Computer Environment",
    "decorators": "function_tool input_guardrail output_guardrail tool tool_input_guardrail tool_output_guardrail",
    "editor": "ApplyPatchEditor ApplyPatchOperation ApplyPatchOperationType ApplyPatchResult",
    "exceptions": (
        "AgentsException InputGuardrailTripwireTriggered MCPToolCancellationError MaxTurnsExceeded ModelBehaviorError "
        "ModelRefusalError ModelTimeoutError OutputGuardrailTripwireTriggered RunErrorDetails "
        "ToolInputGuardrailTripwireTriggered ToolOutputGuardrailTripwireTriggered ToolTimeoutError UserError"
    ),
    "extensions": "ToolOutputTrimmer",
    "extensions.experimental": "codex hosted_multi_agent",
    "extensions.experimental.codex": (
        "AgentMessageItem ApprovalMode Codex CodexOptions CodexToolOptions CodexToolResult CodexToolStreamEvent "
        "CommandExecutionItem ErrorItem FileChangeItem FileUpdateChange Input ItemCompletedEvent ItemStartedEvent "
        "ItemUpdatedEvent McpToolCallError McpToolCallItem McpToolCallResult ModelReasoningEffort OutputSchemaDescriptor "
        "ReasoningItem RunResult RunStreamedResult SandboxMode Thread ThreadError ThreadErrorEvent ThreadEvent ThreadItem "
        "ThreadOptions ThreadStartedEvent TodoItem TodoListItem Turn TurnCompletedEvent TurnFailedEvent TurnOptions "
        "TurnStartedEvent Usage UserInput WebSearchItem WebSearchMode codex_tool"
    ),
    "extensions.experimental.hosted_multi_agent": (
        "HostedAgentMetadata HostedMultiAgentConfig OpenAIHostedMultiAgentModel get_hosted_agent_metadata"
    ),
    "extensions.handoff_filters": "default_handoff_history_mapper nest_handoff_history remove_all_tools",
    "extensions.handoff_prompt": "RECOMMENDED_PROMPT_PREFIX prompt_with_handoff_instructions",
    "extensions.memory": (
        "AdvancedSQLiteSession AsyncSQLiteSession DAPR_CONSISTENCY_EVENTUAL DAPR_CONSISTENCY_STRONG DaprSession "
        "EncryptedSession MongoDBSession RedisSession SQLAlchemySession"
    ),
    "extensions.memory.advanced_sqlite_session": "AdvancedSQLiteSession",
    "extensions.memory.async_sqlite_session": "AsyncSQLiteSession",
    "extensions.memory.dapr_session": "ConsistencyLevel DAPR_CONSISTENCY_EVENTUAL DAPR_CONSISTENCY_STRONG DaprSession",
    "extensions.memory.encrypt_session": "EncryptedEnvelope EncryptedSession",
    "extensions.memory.mongodb_session": "MongoDBSession",
    "extensions.memory.redis_session": "RedisSession",
    "extensions.memory.sqlalchemy_session": "SQLAlchemySession",
    "extensions.models.any_llm_model": "AnyLLMModel InternalChatCompletionMessage",
    "extensions.models.any_llm_provider": "AnyLLMProvider DEFAULT_MODEL",
    "extensions.models.litellm_model": "InternalChatCompletionMessage InternalToolCall LitellmConverter LitellmModel",
    "extensions.models.litellm_provider": "DEFAULT_MODEL LitellmProvider",
    "extensions.sandbox.blaxel": (
        "BlaxelCloudBucketMountConfig BlaxelCloudBucketMountStrategy BlaxelDriveMount BlaxelDriveMountConfig "
        "BlaxelDriveMountStrategy BlaxelSandboxClient BlaxelSandboxClientOptions BlaxelSandboxSession "
        "BlaxelSandboxSessionState BlaxelTimeouts DEFAULT_BLAXEL_WORKSPACE_ROOT ExposedPortUnavailableError "
        "InvalidManifestPathError WorkspaceArchiveReadError"
    ),
    "extensions.sandbox.cloudflare": (
        "CloudflareBucketMountConfig CloudflareBucketMountStrategy CloudflareSandboxClient CloudflareSandboxClientOptions "
        "CloudflareSandboxSession CloudflareSandboxSessionState"
    ),
    "extensions.sandbox.daytona": (
        "DEFAULT_DAYTONA_WORKSPACE_ROOT DaytonaCloudBucketMountStrategy DaytonaSandboxClient DaytonaSandboxClientOptions "
        "DaytonaSandboxResources DaytonaSandboxSession DaytonaSandboxSessionState DaytonaSandboxTimeouts "
        "ExposedPortUnavailableError InvalidManifestPathError WorkspaceArchiveReadError"
    ),
    "extensions.sandbox.e2b": (
        "E2BCloudBucketMountStrategy E2BSandboxClient E2BSandboxClientOptions E2BSandboxSession E2BSandboxSessionState "
        "E2BSandboxTimeouts E2BSandboxType"
    ),
    "extensions.sandbox.modal": (
        "ModalCloudBucketMountConfig ModalCloudBucketMountStrategy ModalImageSelector ModalSandboxClient "
        "ModalSandboxClientOptions ModalSandboxSelector ModalSandboxSession ModalSandboxSessionState resolve_snapshot tarfile"
    ),
    "extensions.sandbox.runloop": (
        "DEFAULT_RUNLOOP_ROOT_WORKSPACE_ROOT DEFAULT_RUNLOOP_WORKSPACE_ROOT RunloopAfterIdle RunloopCloudBucketMountStrategy "
        "RunloopExistingSecret RunloopGatewaySpec RunloopLaunchParameters RunloopMcpSpec RunloopPlatformAxonsClient "
        "RunloopPlatformBenchmarksClient RunloopPlatformBlueprintsClient RunloopPlatformClient "
        "RunloopPlatformNetworkPoliciesClient RunloopPlatformSecretsClient RunloopSandboxClient RunloopSandboxClientOptions "
        "RunloopSandboxSession RunloopSandboxSessionState RunloopTimeouts RunloopTunnelConfig RunloopUserParameters"
    ),
    "extensions.sandbox.vercel": (
        "VercelCloudBucketMountStrategy VercelSandboxClient VercelSandboxClientOptions VercelSandboxSession "
        "VercelSandboxSessionState"
    ),
    "extensions.tool_output_trimmer": "ToolOutputTrimmer logger",
    "extensions.visualization": "draw_graph get_all_edges get_all_nodes get_main_graph",
    "function_schema": "DocstringStyle FuncDocumentation FuncSchema function_schema generate_func_documentation",
    "guardrail": (
        "GuardrailFunctionOutput InputGuardrail InputGuardrailResult OutputGuardrail OutputGuardrailResult TContext_co "
        "input_guardrail output_guardrail"
    ),
    "handoffs": (
        "Handoff HandoffHistoryMapper HandoffInputData HandoffInputFilter default_handoff_history_mapper "
        "get_conversation_history_wrappers handoff nest_handoff_history reset_conversation_history_wrappers "
        "set_conversation_history_wrappers"
    ),
    "handoffs.history": (
        "default_handoff_history_mapper get_conversation_history_wrappers nest_handoff_history "
        "reset_conversation_history_wrappers set_conversation_history_wrappers"
    ),
    "items": (
        "CompactionItem HandoffCallItem HandoffOutputItem InputItem ItemHelpers MCPApprovalRequestItem "
        "MCPApprovalResponseItem MCPListToolsItem MessageOutputItem ModelResponse ReasoningItem RunItem RunItemBase T "
        "TResponse TResponseInputItem TResponseOutputItem TResponseStreamEvent ToolApprovalItem ToolApprovalRawItem "
        "ToolCallItem ToolCallItemTypes ToolCallOutputItem ToolCallOutputTypes ToolSearchCallItem ToolSearchCallRawItem "
        "ToolSearchOutputItem ToolSearchOutputRawItem coerce_tool_search_call_raw_item coerce_tool_search_output_raw_item"
    ),
    "lifecycle": "AgentHooks AgentHooksBase RunHooks RunHooksBase TAgent",
    "logger": (
        "log_model_action_debug log_model_action_error log_model_action_warning log_model_and_tool_action_debug "
        "log_model_and_tool_action_error log_model_and_tool_action_warning log_model_and_tool_data_warning "
        "log_tool_action_debug log_tool_action_error log_tool_action_warning logger"
    ),
    "mcp": (
        "LocalMCPApprovalCallable MCPServer MCPServerManager MCPServerSse MCPServerSseParams MCPServerStdio "
        "MCPServerStdioParams MCPServerStreamableHttp MCPServerStreamableHttpParams MCPToolCustomDataContext "
        "MCPToolCustomDataExtractor MCPToolMetaContext MCPToolMetaResolver MCPUtil ToolFilter ToolFilterCallable "
        "ToolFilterContext ToolFilterStatic create_static_tool_filter"
    ),
    "mcp.manager": "MCPServerManager",
    "mcp.server": (
        "GetSessionIdCallback MCPServer MCPServerSse MCPServerSseParams MCPServerStdio MCPServerStdioParams "
        "MCPServerStreamableHttp MCPServerStreamableHttpParams MCPStreamTransport RequireApprovalMapping "
        "RequireApprovalObject RequireApprovalPolicy RequireApprovalToolList StreamableHTTPTransport T streamablehttp_client"
    ),
    "memory": (
        "OpenAIConversationsSession OpenAIResponsesCompactionArgs OpenAIResponsesCompactionAwareSession "
        "OpenAIResponsesCompactionSession SQLiteSession Session SessionABC SessionInputCallback SessionSettings "
        "is_openai_responses_compaction_aware_session"
    ),
    "memory.openai_conversations_session": "OpenAIConversationsSession start_openai_conversations_session",
    "memory.openai_responses_compaction_session": (
        "DEFAULT_COMPACTION_THRESHOLD OpenAIResponsesCompactionMode OpenAIResponsesCompactionSession "
        "default_should_trigger_compaction is_openai_model_name logger select_compaction_candidate_items"
    ),
    "memory.session": (
        "OpenAIResponsesCompactionArgs OpenAIResponsesCompactionAwareSession Session SessionABC "
        "is_openai_responses_compaction_aware_session"
    ),
    "memory.session_settings": "SessionSettings coerce_session_settings resolve_session_limit",
    "memory.sqlite_session": "SQLiteSession",
    "model_settings": "Headers MCPToolChoice ModelSettings Omit ToolChoice",
    "models": (
        "OpenAIAgentRegistrationConfig get_default_model get_default_model_settings gpt_5_reasoning_settings_required "
        "is_gpt_5_default"
    ),
    "models.chatcmpl_converter": "Converter ResponseInputContentWithAudioParam",
    "models.chatcmpl_helpers": "ChatCmplHelpers HEADERS HEADERS_OVERRIDE",
    "models.chatcmpl_stream_handler": "ChatCmplStreamHandler Part SequenceNumber StreamingState",
    "models.default_models": (
        "GPT5DefaultReasoningEffort OPENAI_DEFAULT_MODEL_ENV_VARIABLE_NAME get_default_model get_default_model_settings "
        "gpt_5_reasoning_settings_required is_gpt_5_default"
    ),
    "models.fake_id": "FAKE_RESPONSES_ID",
    "models.interface": "Model ModelProvider ModelTracing",
    "models.multi_provider": "MultiProvider MultiProviderMap MultiProviderOpenAIPrefixMode MultiProviderUnknownPrefixMode",
    "models.openai_agent_registration": (
        "OPENAI_HARNESS_ID_TRACE_METADATA_KEY OpenAIAgentRegistrationConfig ResolvedOpenAIAgentRegistrationConfig "
        "add_openai_harness_id_to_metadata get_default_openai_agent_registration_config "
        "resolve_openai_agent_registration_config resolve_openai_harness_id_for_model_provider "
        "set_default_openai_agent_registration_config"
    ),
    "models.openai_chatcompletions": "OpenAIChatCompletionsModel",
    "models.openai_client_utils": "is_official_openai_base_url is_official_openai_client",
    "models.openai_provider": "DEFAULT_MODEL OpenAIProvider shared_http_client",
    "models.openai_responses": (
        "ConvertedTools Converter OpenAIResponsesModel OpenAIResponsesWSModel OpenAIResponsesWebSocketOptions "
        "ResponsesWebSocketError"
    ),
    "models.reasoning_content_replay": (
        "ReasoningContentReplayContext ReasoningContentSource ShouldReplayReasoningContent "
        "default_should_replay_reasoning_content"
    ),
    "prompts": "DynamicPromptFunction GenerateDynamicPromptData Prompt PromptUtil",
    "realtime": (
        "AssistantMessageItem AssistantText DEFAULT_MODEL_SETTINGS InputAudio InputText OpenAIRealtimeSIPModel "
        "OpenAIRealtimeWebSocketModel RealtimeAgent RealtimeAgentEndEvent RealtimeAgentHooks RealtimeAgentStartEvent "
        "RealtimeAudio RealtimeAudioEnd RealtimeAudioFormat RealtimeAudioInterrupted RealtimeClientMessage "
        "RealtimeConnectionStatus RealtimeError RealtimeEventInfo RealtimeGuardrailTripped RealtimeGuardrailsSettings "
        "RealtimeHandoffEvent RealtimeHistoryAdded RealtimeHistoryUpdated RealtimeInputAudioNoiseReductionConfig "
        "RealtimeInputAudioTranscriptionConfig RealtimeItem RealtimeMessageItem RealtimeModel RealtimeModelAudioDoneEvent "
        "RealtimeModelAudioEvent RealtimeModelAudioInterruptedEvent RealtimeModelCachedTokensDetails RealtimeModelConfig "
        "RealtimeModelConnectionStatusEvent RealtimeModelEndOfStreamEvent RealtimeModelErrorEvent RealtimeModelEvent "
        "RealtimeModelExceptionEvent RealtimeModelInputAudioTranscriptionCompletedEvent RealtimeModelInputTextContent "
        "RealtimeModelInputTokensDetails RealtimeModelItemDeletedEvent RealtimeModelItemUpdatedEvent RealtimeModelListener "
        "RealtimeModelName RealtimeModelOtherEvent RealtimeModelOutputTextDeltaEvent RealtimeModelOutputTokensDetails "
        "RealtimeModelRawClientMessage RealtimeModelSendAudio RealtimeModelSendEvent RealtimeModelSendInterrupt "
        "RealtimeModelSendRawMessage RealtimeModelSendSessionUpdate RealtimeModelSendToolOutput RealtimeModelSendUserInput "
        "RealtimeModelToolCallEvent RealtimeModelTracingConfig RealtimeModelTranscriptDeltaEvent RealtimeModelTurnEndedEvent "
        "RealtimeModelTurnStartedEvent RealtimeModelUsageEvent RealtimeModelUserInput RealtimeModelUserInputMessage "
        "RealtimePlaybackState RealtimePlaybackTracker RealtimeRawModelEvent RealtimeReasoningConfig RealtimeReasoningEffort "
        "RealtimeResponse RealtimeRunConfig RealtimeRunHooks RealtimeRunner RealtimeSession RealtimeSessionEvent "
        "RealtimeSessionModelSettings RealtimeToolApprovalRequired RealtimeToolCallItem RealtimeToolEnd "
        "RealtimeToolExecutionConfig RealtimeToolStart RealtimeTurnDetectionConfig RealtimeUserInput RealtimeUserInputMessage "
        "RealtimeUserInputText SystemMessageItem UserMessageItem get_api_key realtime_handoff"
    ),
    "repl": "run_demo_loop",
    "responses_websocket_session": "ResponsesWebSocketSession responses_websocket_session",
    "result": "AgentToolInvocation RunResult RunResultBase RunResultStreaming T ToInputListMode",
    "retry": (
        "ModelRetryAdvice ModelRetryAdviceRequest ModelRetryBackoffInput ModelRetryBackoffSettings ModelRetryNormalizedError "
        "ModelRetrySettings RetryDecision RetryPolicy RetryPolicyContext retry_policies "
        "retry_policy_retries_all_transient_errors retry_policy_retries_safe_transport_errors"
    ),
    "run": (
        "AgentRunner CallModelData CallModelInputFilter DEFAULT_MAX_TURNS ModelInputData OutputGuardrailBlockedMessageArgs "
        "OutputGuardrailBlockedMessageFormatter ReasoningItemIdPolicy RunConfig RunContextWrapper RunOptions RunState Runner "
        "ToolErrorFormatter ToolErrorFormatterArgs ToolExecutionConfig ToolNameCollisionPolicy ToolNotFoundBehavior "
        "get_default_agent_runner set_default_agent_runner"
    ),
    "run_config": (
        "CallModelData CallModelInputFilter DEFAULT_MAX_TURNS ModelInputData OutputGuardrailBlockedMessageArgs "
        "OutputGuardrailBlockedMessageFormatter ReasoningItemIdPolicy RunConfig RunOptions SandboxArchiveLimits "
        "SandboxConcurrencyLimits SandboxRunConfig ToolErrorFormatter ToolErrorFormatterArgs ToolExecutionConfig "
        "ToolNameCollisionPolicy"
    ),
    "run_context": "AgentHookContext RunContextWrapper TContext",
    "run_error_handlers": "RunErrorData RunErrorHandler RunErrorHandlerInput RunErrorHandlerResult RunErrorHandlers",
    "run_state": (
        "CURRENT_SCHEMA_VERSION ContextDeserializer ContextOverride ContextSerializer RunState RunStateValidationError "
        "RunStateValidationErrorFactory RunStateValidationErrorType SCHEMA_VERSION_SUMMARIES SUPPORTED_SCHEMA_VERSIONS "
        "TAction TAgent TContext"
    ),
    "sandbox": (
        "Capability Dir ErrorCode ExecResult ExecTimeoutError ExecTransportError ExposedPortEndpoint "
        "ExposedPortUnavailableError FileMode Group LocalFile LocalSnapshot LocalSnapshotSpec Manifest MemoryGenerateConfig "
        "MemoryLayoutConfig MemoryReadConfig Permissions RemoteSnapshot RemoteSnapshotSpec SandboxAgent SandboxArchiveLimits "
        "SandboxConcurrencyLimits SandboxError SandboxPathGrant SandboxRunConfig SandboxWorkspaceScope SnapshotSpec User "
        "WorkspaceArchiveReadError WorkspaceArchiveWriteError WorkspaceReadNotFoundError WorkspaceWriteTypeError "
        "resolve_snapshot"
    ),
    "sandbox.capabilities": (
        "Capabilities Capability Compaction CompactionModelInfo CompactionPolicy DynamicCompactionPolicy Filesystem "
        "FilesystemToolSet LazySkillSource LocalDirLazySkillSource Memory Shell ShellToolSet Skill SkillMetadata Skills "
        "StaticCompactionPolicy"
    ),
    "sandbox.capabilities.tools": (
        "ExecCommandArgs ExecCommandTool SandboxApplyPatchEditor SandboxApplyPatchTool ViewImageArgs ViewImageTool "
        "WriteStdinArgs WriteStdinTool"
    ),
    "sandbox.entries": (
        "AzureBlobMount BaseEntry BoxMount Dir DockerVolumeMountStrategy File FuseMountPattern GCSMount GitRepo "
        "InContainerMountStrategy LocalDir LocalFile Mount MountPattern MountPatternBase MountStrategy MountStrategyBase "
        "MountpointMountPattern R2Mount RcloneMountPattern S3FilesMount S3FilesMountPattern S3Mount resolve_workspace_path"
    ),
    "sandbox.entries.mounts": (
        "AzureBlobMount BoxMount DockerVolumeMountStrategy FuseMountPattern GCSMount InContainerMountStrategy Mount "
        "MountPattern MountPatternBase MountStrategy MountStrategyBase MountpointMountPattern R2Mount RcloneMountPattern "
        "S3FilesMount S3FilesMountPattern S3Mount"
    ),
    "sandbox.entries.mounts.providers": "AzureBlobMount BoxMount GCSMount R2Mount S3FilesMount S3Mount",
    "sandbox.session": (
        "BaseSandboxClient BaseSandboxClientOptions BaseSandboxSession CallbackSink ChainedSink ClientOptionsT Dependencies "
        "DependenciesBindingError DependenciesError DependenciesMissingDependencyError DependencyKey EventPayloadPolicy "
        "EventSink ExposedPortEndpoint HttpProxySink Instrumentation JsonlOutboxSink SandboxSession SandboxSessionEvent "
        "SandboxSessionFinishEvent SandboxSessionStartEvent SandboxSessionState WorkspaceJsonlSink event_to_json_line "
        "validate_sandbox_session_event"
    ),
    "stream_events": "AgentUpdatedStreamEvent RawResponsesStreamEvent RunItemStreamEvent StreamEvent",
    "strict_schema": "ensure_strict_json_schema has_more_than_n_keys is_dict is_list resolve_ref",
    "testing": (
        "InvalidModelStep InvalidSandboxStep ModelCall ModelScriptError ModelStep ModelStepSpec SandboxCall "
        "SandboxCallMatcherError SandboxScriptError SandboxStepSpec ScriptedModel ScriptedSandboxSession UnconsumedModelSteps "
        "UnconsumedSandboxSteps UnexpectedModelCall UnexpectedSandboxCall assistant_message function_call "
        "scripted_sandbox_session"
    ),
    "testing.model": (
        "InvalidModelStep ModelCall ModelScriptError ModelStep ModelStepSpec ScriptedModel UnconsumedModelSteps "
        "UnexpectedModelCall assistant_message function_call"
    ),
    "tool": (
        "ApplyPatchApprovalFunction ApplyPatchOnApprovalFunction ApplyPatchOnApprovalFunctionResult ApplyPatchTool "
        "ApplyPatchToolCustomDataContext ApplyPatchToolCustomDataExtractor CodeInterpreterTool ComputerConfig ComputerCreate "
        "ComputerDispose ComputerLike ComputerProvider ComputerT ComputerT_co ComputerT_contra ComputerTool "
        "ComputerToolCustomDataContext ComputerToolCustomDataExtractor ComputerToolSafetyCheckData CustomTool "
        "CustomToolApprovalFunction CustomToolCustomDataContext CustomToolCustomDataExtractor CustomToolExecutor "
        "CustomToolOnApprovalFunction CustomToolOnApprovalFunctionResult DEFAULT_APPROVAL_REJECTION_MESSAGE FileSearchTool "
        "FunctionTool FunctionToolCustomDataContext FunctionToolCustomDataExtractor FunctionToolResult HostedMCPTool "
        "ImageGenerationTool ImageGenerationToolConfig LocalShellCommandRequest LocalShellExecutor LocalShellTool "
        "MCPToolApprovalFunction MCPToolApprovalFunctionResult MCPToolApprovalRequest ProgrammaticToolCallingTool "
        "ShellActionRequest ShellApprovalFunction ShellCallData ShellCallOutcome ShellCommandOutput ShellCommandRequest "
        "ShellExecutor ShellOnApprovalFunction ShellOnApprovalFunctionResult ShellResult ShellTool "
        "ShellToolContainerAutoEnvironment ShellToolContainerNetworkPolicy ShellToolContainerNetworkPolicyAllowlist "
        "ShellToolContainerNetworkPolicyDisabled ShellToolContainerNetworkPolicyDomainSecret "
        "ShellToolContainerReferenceEnvironment ShellToolContainerSkill ShellToolEnvironment ShellToolHostedEnvironment "
        "ShellToolInlineSkill ShellToolInlineSkillSource ShellToolLocalEnvironment ShellToolLocalSkill "
        "ShellToolSkillReference Tool ToolCaller ToolErrorFunction ToolFunction ToolFunctionWithContext "
        "ToolFunctionWithToolContext ToolFunctionWithoutContext ToolOrigin ToolOriginType ToolOutputFileContent "
        "ToolOutputFileContentDict ToolOutputImage ToolOutputImageDict ToolOutputText ToolOutputTextDict ToolParams "
        "ToolSearchTool ToolTimeoutBehavior ValidToolOutputPydanticModels ValidToolOutputPydanticModelsTypeAdapter "
        "WebSearchTool WebSearchToolImageSettings default_tool_error_function default_tool_timeout_error_message "
        "dispose_resolved_computers ensure_function_tool_supports_responses_only_features ensure_tool_choice_supports_backend "
        "function_tool get_function_tool_origin get_function_tool_responses_only_features has_required_tool_search_surface "
        "has_responses_tool_search_surface invoke_function_tool is_required_tool_search_surface "
        "is_responses_tool_search_surface maybe_invoke_function_tool_failure_error_function prune_orphaned_tool_search_tools "
        "resolve_computer resolve_function_tool_failure_error_function set_function_tool_failure_error_function "
        "tool_namespace validate_responses_programmatic_tool_calling_configuration "
        "validate_responses_tool_search_configuration with_function_tool_failure_error_handler"
    ),
    "tool_context": "ToolContext",
    "tool_guardrails": (
        "AllowBehavior RaiseExceptionBehavior RejectContentBehavior TContext_co ToolGuardrailFunctionOutput "
        "ToolInputGuardrail ToolInputGuardrailData ToolInputGuardrailResult ToolOutputGuardrail ToolOutputGuardrailData "
        "ToolOutputGuardrailResult tool_input_guardrail tool_output_guardrail"
    ),
    "tracing": (
        "AgentSpanData CustomSpanData FunctionSpanData GenerationSpanData GuardrailSpanData HandoffSpanData "
        "MCPListToolsSpanData ResponseSpanData Span SpanData SpanError SpeechGroupSpanData SpeechSpanData TaskSpanData Trace "
        "TraceCtxManager TraceProvider TracingConfig TracingProcessor TranscriptionSpanData TurnSpanData add_trace_processor "
        "agent_span custom_span flush_traces function_span gen_span_id gen_trace_id generation_span get_current_span "
        "get_current_trace get_trace_provider guardrail_span handoff_span mcp_tools_span response_span set_trace_processors "
        "set_trace_provider set_tracing_disabled speech_group_span speech_span task_span trace transcription_span turn_span"
    ),
    "tracing.config": "TracingConfig include_task_and_turn_spans",
    "tracing.context": "TraceCtxManager create_trace_for_run",
    "tracing.create": (
        "agent_span custom_span function_span generation_span get_current_span get_current_trace guardrail_span handoff_span "
        "mcp_tools_span response_span speech_group_span speech_span task_span trace transcription_span turn_span"
    ),
    "tracing.logger": "logger",
    "tracing.model_tracing": "get_model_tracing_impl",
    "tracing.processor_interface": "TracingExporter TracingProcessor",
    "tracing.processors": "BackendSpanExporter BatchTraceProcessor ConsoleSpanExporter default_exporter default_processor",
    "tracing.provider": "DefaultTraceProvider SynchronousMultiTracingProcessor TraceProvider",
    "tracing.scope": "Scope",
    "tracing.setup": "GLOBAL_TRACE_PROVIDER get_trace_provider set_trace_provider",
    "tracing.span_data": (
        "AgentSpanData CustomSpanData FunctionSpanData GenerationSpanData GuardrailSpanData HandoffSpanData "
        "MCPListToolsSpanData ResponseSpanData SpanData SpeechGroupSpanData SpeechSpanData TaskSpanData TranscriptionSpanData "
        "TurnSpanData"
    ),
    "tracing.spans": "NoOpSpan Span SpanError SpanImpl TSpanData",
    "tracing.traces": "NO_OP_TRACE NoOpTrace ReattachedTrace Trace TraceImpl TraceState reattach_trace",
    "usage": (
        "RequestUsage Usage deserialize_usage model_usage_to_span_usage serialize_usage task_usage_to_span_data "
        "total_usage_to_span_metadata turn_usage_to_span_data"
    ),
    "voice": (
        "AudioInput OpenAISTTModel OpenAISTTTranscriptionSession OpenAITTSModel OpenAIVoiceModelProvider STTModel "
        "STTModelSettings STTWebsocketConnectionError SingleAgentVoiceWorkflow SingleAgentWorkflowCallbacks "
        "StreamedAudioInput StreamedAudioResult StreamedTranscriptionSession TTSCustomVoice TTSModel TTSModelSettings "
        "TTSVoice VoiceModelProvider VoicePipeline VoicePipelineConfig VoiceStreamEvent VoiceStreamEventAudio "
        "VoiceStreamEventError VoiceStreamEventLifecycle VoiceWorkflowBase VoiceWorkflowHelper get_sentence_based_splitter"
    ),
}

NAMES: dict[str, tuple[str, ...]] = {module: tuple(names.split()) for module, names in _TEXT.items()}
"""By module, `""` being the root."""
