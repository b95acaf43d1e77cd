// Made from docs/openapi.json by generate.mjs. Change the server and run `make docs`.

export interface components {
    schemas: {
        Health: {
            status: string;
            version: string;
        };
        Ready: {
            status: string;
            dependencies: components["schemas"]["Dependency"][];
        };
        Dependency: {
            /** @description The kind of the dependency, and after a colon the instance. */
            name: string;
            kind: components["schemas"]["DependencyKind"];
            /** @description The provider, server, plugin or account, where there are several of a kind. */
            instance?: string | null;
            state: components["schemas"]["DependencyState"];
            detail?: string | null;
            /** @description What to do about it. */
            hint?: string | null;
            /** @description The progress of work on it, such as a download. */
            progress?: components["schemas"]["Progress"] | null;
        };
        /**
         * @description `storage`: The database and the files of the home. `objects`: The object store of several gateways. `memory`: Search in memory, where it works only in part. `disk`: The free space. `search`: The search engine for the web. `gateway`: The subscription gateway.
         * @enum {string}
         */
        DependencyKind: "config" | "provider" | "index" | "embedder" | "sandbox" | "docker" | "menos" | "connector" | "mcp" | "plugin" | "jobs" | "storage" | "objects" | "memory" | "disk" | "search" | "gateway";
        /**
         * @description `off`: It is not set up, and nothing needs it. `degraded`: Part of it does not work. `down`: The server cannot work without it.
         * @enum {string}
         */
        DependencyState: "ok" | "off" | "degraded" | "down";
        Progress: {
            /** Format: uint64 */
            done: number;
            /** Format: uint64 */
            total: number;
        };
        Everything: {
            dependencies: components["schemas"]["Dependency"][];
        };
        Line: {
            /** @constant */
            type: "start";
            /** Format: uuid */
            session_id: string;
            /** Format: uuid */
            run_id: string;
            /** @description The action of this run, if there is one. */
            action?: components["schemas"]["ActionRun"] | null;
        } | {
            /** @constant */
            type: "text";
            delta: string;
        } | {
            /** @constant */
            type: "tool_call";
            id: components["schemas"]["ToolUseId"];
            tool: string;
            args: unknown;
            label: components["schemas"]["CallLabel"];
        } | {
            /** @constant */
            type: "tool_result";
            id: components["schemas"]["ToolUseId"];
            tool: string;
            ok: boolean;
            summary: string;
            report: components["schemas"]["CallReport"];
        } | {
            /** @constant */
            type: "status";
            message: string;
            code: components["schemas"]["StatusCode"];
        } | {
            /** @constant */
            type: "draft";
            /** Format: uuid */
            draft_id: string;
            tool: string;
            summary: string;
            preview: components["schemas"]["Preview"];
            asks_for: components["schemas"]["AsksFor"];
        } | {
            /** @constant */
            type: "confirm";
            /** Format: uuid */
            draft_id: string;
            tool: string;
            summary: string;
            preview: components["schemas"]["Preview"];
            asks_for: components["schemas"]["AsksFor"];
        } | {
            /** @constant */
            type: "error";
            message: string;
            code: components["schemas"]["ErrorCode"];
            hint: string;
        } | {
            /** @constant */
            type: "done";
            /** Format: uuid */
            session_id: string;
            /** Format: uuid */
            run_id: string;
            status: components["schemas"]["RunStatus"];
            usage: components["schemas"]["Usage"];
        };
        /** @description The action that a run performs, and the page that it writes. */
        ActionRun: {
            id: string;
            label: string;
            /** @description The path among the person's files; written at the end of the run. */
            page: string;
        };
        /** @description The id a provider gave one tool call; opaque to us and unique only within a session. */
        ToolUseId: string;
        /** @description A call's label for people. Secrets are masked. */
        CallLabel: {
            verb: components["schemas"]["Verb"];
            /** @description The subject of the call: a path, a question, an address. Empty if the verb is enough. */
            subject: string;
            target?: components["schemas"]["CallTarget"] | null;
            /** @description The change of an edit, if its arguments alone show it. */
            change?: components["schemas"]["CallChange"] | null;
        };
        /** @description The words for a call in each of its states. */
        Verb: {
            /** @description `Edit` */
            plain: string;
            /** @description `Wants to edit`: a person has to agree first. */
            wants: string;
            /** @description `Editing` */
            doing: string;
            /** @description `Edited` */
            did: string;
            /** @description `Was not allowed to edit` */
            refused: string;
            /** @description `Could not edit` */
            failed: string;
        };
        /** @description The target of a call, if it is a single one that a surface can show or open. */
        CallTarget: {
            kind: components["schemas"]["CallTargetKind"];
            name: string;
            /**
             * Format: uint64
             * @description The line in a file.
             */
            line?: number | null;
        };
        /**
         * @description `file`: A file of the vault.
         * @enum {string}
         */
        CallTargetKind: "address" | "command" | "agent" | "session" | "person" | "file";
        /** @description An edit as a unified diff, with its lines counted. */
        CallChange: {
            unified: string;
            /**
             * @description The lines of `unified`, each with its kind.
             * @default []
             */
            diff_lines: components["schemas"]["DiffLine"][];
            /** Format: uint */
            added: number;
            /** Format: uint */
            removed: number;
        };
        /** @description A line of a unified diff, without its mark. */
        DiffLine: {
            kind: components["schemas"]["DiffLineKind"];
            text: string;
        };
        /**
         * @description `file`: The name of a file before its first hunk. `hunk`: The position of the next lines in the file. `note`: A note about the change, which is in no file.
         * @enum {string}
         */
        DiffLineKind: "same" | "added" | "removed" | "file" | "hunk" | "note";
        /** @description The result of a call, beside what the model reads. */
        CallReport: {
            state: components["schemas"]["CallState"];
            /** @description The strictest effect in the plan; absent if there was no plan. */
            effect?: components["schemas"]["ToolEffect"] | null;
            /** @description How many lines of text the plan changes. */
            lines?: components["schemas"]["LineCounts"] | null;
            /** @description For a dry run: what would have been done. */
            rehearsal?: components["schemas"]["Rehearsal"] | null;
            /** @description An output that was too long for the model, or a text that the call attached to it. */
            artifact?: components["schemas"]["Artifact"] | null;
        };
        /**
         * @description `refused`: The gate, the tool or a person refused the call; nothing was done. `waiting`: The call waits for a person; nothing has been done yet. `rehearsed`: The call was part of a dry run; nothing was done.
         * @enum {string}
         */
        CallState: "done" | "failed" | "refused" | "waiting" | "rehearsed";
        /**
         * @description The effect of a tool call, mildest first: the strictest one of a plan counts.
         * @enum {string}
         */
        ToolEffect: "read" | "write" | "destroy" | "reach" | "execute";
        LineCounts: {
            /** Format: uint */
            added: number;
            /** Format: uint */
            removed: number;
        };
        /** @description A call that a dry run only planned. */
        Rehearsal: {
            /** @description One line for people. */
            summary: string;
            /** @description The gate's verdict on the call. */
            verdict: components["schemas"]["Verdict"];
            preview: components["schemas"]["Preview"];
        };
        /**
         * @description The gate's answer to a plan.
         * @enum {string}
         */
        Verdict: "allow" | "confirm" | "draft" | "deny";
        /**
         * @description The form in which a person sees a plan before deciding. All text in it is made visible before it
         *     leaves the process, also text that was stored earlier.
         */
        Preview: {
            /** @constant */
            kind: "none";
        } | {
            /** @constant */
            kind: "text";
            text: string;
        } | {
            /** @constant */
            kind: "diff";
            path: string;
            unified: string;
            /**
             * @description The lines of `unified`, each with its kind.
             * @default []
             */
            diff_lines: components["schemas"]["DiffLine"][];
            /** @description What the change means, if the file is a document of a space. */
            document?: components["schemas"]["DocumentPreview"] | null;
        } | {
            /** @constant */
            kind: "choice";
            text: string;
            options: string[];
        };
        /** @description A page, task, ref or project as a change would leave it. */
        DocumentPreview: {
            kind: components["schemas"]["EntityKind"];
            is_new: boolean;
            title?: string | null;
            /** @description The fields that the change sets, alters or removes. */
            fields: components["schemas"]["DocumentField"][];
            /** @description The changed lines of the body with some around them; for a new document, the whole body. */
            body: components["schemas"]["DiffLine"][];
        };
        /**
         * @description A kind of entity in a space.
         * @enum {string}
         */
        EntityKind: "page" | "task" | "ref" | "project";
        DocumentField: {
            name: string;
            /** @description The name for people. */
            label: string;
            /** @description Absent if the field is new. */
            before?: string | null;
            /** @description Absent if the field is removed. */
            after?: string | null;
        };
        /** @description An output that is too long for the model, stored completely for a while. */
        Artifact: {
            key: string;
            /** Format: uint64 */
            bytes: number;
        };
        /** @enum {string} */
        StatusCode: "fallback" | "retry" | "compaction" | "waiting" | "degraded" | "tainted";
        /**
         * @description What a draft needs from a person. `approval`: Approval or rejection of what the draft would do. `answer`: An answer, because the draft is a question.
         * @enum {string}
         */
        AsksFor: "approval" | "answer";
        /**
         * @description Every error that a client can see, with its code, class, HTTP status, sentence and hint.
         * @enum {string}
         */
        ErrorCode: "invalid_request" | "unauthenticated" | "sign_in_again" | "forbidden" | "owner_required" | "not_found" | "model_not_found" | "session_busy" | "confirmation_required" | "draft_stale" | "draft_decided" | "draft_expired" | "version_conflict" | "too_large" | "invalid_action" | "rate_limited" | "limit_steps" | "limit_tool_calls" | "limit_seconds" | "limit_output" | "limit_prompt" | "limit_budget" | "limit_loop" | "provider_auth" | "provider_rate_limited" | "provider_overloaded" | "provider_context_length" | "provider_truncated" | "provider_unavailable" | "provider_paused" | "provider_timeout" | "provider_refused" | "tool_denied" | "tool_failed" | "tool_timeout" | "cancelled" | "interrupted" | "overloaded" | "storage_full" | "storage_failed" | "storage_unavailable" | "key_unavailable" | "internal";
        /** @enum {string} */
        RunStatus: "done" | "cancelled" | "error" | "interrupted" | "awaiting_client";
        /** @description Tokens and money of one or more model calls. */
        Usage: {
            /**
             * Format: uint64
             * @default 0
             */
            input: number;
            /**
             * Format: uint64
             * @default 0
             */
            output: number;
            /**
             * Format: uint64
             * @default 0
             */
            cache_read: number;
            /**
             * Format: uint64
             * @default 0
             */
            cache_write: number;
            /**
             * Format: double
             * @description The cost in the currency of the price data; absent if no price is known.
             */
            cost?: number | null;
        };
        /** @description The result of a run. */
        ChatReply: {
            /** Format: uuid */
            session_id: string;
            /** Format: uuid */
            run_id: string;
            message: string;
            tools: components["schemas"]["ToolView"][];
            drafts: components["schemas"]["DraftView"][];
            usage: components["schemas"]["Usage"];
        };
        /** @description One tool call in a complete answer. */
        ToolView: {
            id: components["schemas"]["ToolUseId"];
            tool: string;
            args: unknown;
            /** @description `None` while there is no result. */
            ok: boolean | null;
            summary: string;
        };
        DraftView: {
            /** Format: uuid */
            draft_id: string;
            tool: string;
            summary: string;
            preview: components["schemas"]["Preview"];
        };
        Stopped: {
            stopped: boolean;
        };
        Cleared: {
            /** Format: uuid */
            session_id: string;
        };
        History: {
            /** Format: uuid */
            session_id: string;
            messages: components["schemas"]["HistoryMessage"][];
            /**
             * Format: uint64
             * @description Give it as `before` to get the messages before these; absent at the beginning.
             */
            before?: number | null;
        };
        HistoryMessage: {
            /**
             * Format: uuid
             * @description The first turn of the message.
             */
            id: string;
            role: components["schemas"]["MessageRole"];
            /** @description The agent that answered; absent for a person's message. */
            agent?: string | null;
            content: string;
            status: components["schemas"]["MessageStatus"];
            /** Format: date-time */
            created_at: string;
            tools: components["schemas"]["ToolView"][];
            /** @description The reason why there is no answer, if there is none. */
            error?: components["schemas"]["Fault"] | null;
        };
        /** @enum {string} */
        MessageRole: "user" | "assistant";
        /**
         * @description `streaming`: The run is still in progress.
         * @enum {string}
         */
        MessageStatus: "complete" | "cancelled" | "error" | "interrupted" | "streaming";
        /** @description An error as it is shown to a person: a code from the table and what happened in this case. */
        Fault: {
            code: components["schemas"]["ErrorCode"];
            message: string;
            hint?: string | null;
            /**
             * Format: uint64
             * @description When a retry may succeed; whole seconds on the wire.
             */
            retry_after_seconds?: number | null;
        };
        PreferencesView: {
            runtime_mode: components["schemas"]["RuntimeMode"];
            /** @description `agents.md`: the person's standing instructions. */
            prompt: string;
            fallback: boolean;
            flags: {
                [key: string]: boolean;
            };
            /** @description A folder of the vault; it cannot be changed. */
            actions_path: string;
            /** @description The person's choice; `null` where the server's zone applies. */
            timezone: string | null;
            /** @description The zone that applies now. */
            current_timezone: string;
        };
        /** @enum {string} */
        RuntimeMode: "anthropic_api_key" | "gateway_subscription";
        ActionView: {
            id: string;
            label: string;
            /** @description The action's file, among the person's files. */
            path: string;
            /** @description Its prompt has a placeholder for the text that the person has selected. */
            asks_for_selection: boolean;
            requires_confirmation: boolean;
            /** Format: uint32 */
            max_steps?: number | null;
            /** @description Why it cannot run. */
            error?: string | null;
            /** @description Settings that work but are probably not what was meant. */
            warnings?: string[];
        };
        ActionPrompt: {
            prompt: string;
        };
        ActionRuns: {
            runs: components["schemas"]["ActionRunView"][];
            /**
             * Format: uuid
             * @description Give it as `before` to get the older ones; absent at the end.
             */
            before?: string | null;
        };
        ActionRunView: {
            /** Format: uuid */
            run_id: string;
            /** @description The path among the person's files. */
            page: string;
            /** @description Absent where the page cannot be read. */
            record?: components["schemas"]["ActionRunRecord"] | null;
        };
        ActionRunRecord: {
            action_id: string;
            label: string;
            /** Format: uuid */
            session_id?: string | null;
            status: string;
            model: string;
            /** Format: date-time */
            started_at?: string | null;
            /** Format: date-time */
            ended_at?: string | null;
            /** Format: double */
            cost?: number | null;
            /** @description The page's text, without its front matter. */
            text: string;
        };
        AgentHealth: {
            runtime: components["schemas"]["AgentRuntime"];
            /** @description The provider of the default agent's model; absent while no model is configured. */
            provider: components["schemas"]["Dependency"] | null;
            linkedin: components["schemas"]["LinkedIn"];
        };
        AgentRuntime: {
            mode: components["schemas"]["RuntimeMode"];
            state: components["schemas"]["DependencyState"];
            detail?: string | null;
        };
        LinkedIn: {
            /** @description Whether the person's account is connected. */
            token_present: boolean;
            /**
             * Format: date-time
             * @description When LinkedIn last accepted its token, since the server started.
             */
            last_validated_at: string | null;
            /** @description Why LinkedIn refused it, if it did. */
            last_error: string | null;
        };
        /** @description A line for clients of `/api/claude`: the same except for one name. */
        OlderLine: {
            /** @constant */
            type: "tool_use";
            id: components["schemas"]["ToolUseId"];
            tool: string;
            args: unknown;
            label: components["schemas"]["CallLabel"];
        } | components["schemas"]["Line"];
        AgentList: {
            agents: components["schemas"]["AgentView"][];
        };
        /** @description An agent as it works: its own settings, completed by the defaults. */
        AgentView: {
            id: string;
            name: string;
            default: boolean;
            /** @description A disabled agent answers no one. */
            enabled: boolean;
            tier: components["schemas"]["Tier"];
            /** @description None: the config's default model. */
            model: string | null;
            fallbacks: string[];
            /** Format: float */
            temperature: number | null;
            /** Format: uint32 */
            max_output_tokens: number | null;
        };
        /**
         * @description How much an agent may do alone.
         * @enum {string}
         */
        Tier: "read" | "suggest" | "act";
        /** @description An agent as it works: its own settings, completed by the defaults. */
        AgentDetails: {
            id: string;
            name: string;
            default: boolean;
            /** @description A disabled agent answers no one. */
            enabled: boolean;
            tier: components["schemas"]["Tier"];
            /** @description None: the config's default model. */
            model: string | null;
            fallbacks: string[];
            /** Format: float */
            temperature: number | null;
            /** Format: uint32 */
            max_output_tokens: number | null;
            /** @description All tools of the agent. */
            tools: string[];
            /** @description The agent's settings in the config; their version is the ETag. */
            settings: components["schemas"]["AgentFields"];
            /** @description Markdown files in the agent's own folder. */
            files: string[];
        };
        /** @description An agent's own settings. Absent ones are taken from `agents.defaults`. */
        AgentFields: {
            /** @default null */
            name: string | null;
            /**
             * @description Answers messages that name no agent; exactly one agent is the default.
             * @default false
             */
            default: boolean;
            /** @default null */
            enabled: boolean | null;
            /** @default null */
            tier: components["schemas"]["Tier"] | null;
            /**
             * @description `<provider>/<model>`, or `auto`.
             * @default null
             */
            model: string | null;
            /**
             * @description Tried in this order when `model` fails.
             * @default []
             */
            fallbacks: string[];
            /** @default null */
            tools: components["schemas"]["ToolFields"] | null;
            /**
             * Format: float
             * @default null
             */
            temperature: number | null;
            /**
             * Format: uint32
             * @default null
             */
            max_output_tokens: number | null;
            /**
             * @description A folder whose files are read instead of those in the agent's own folder.
             * @default null
             */
            workspace: string | null;
            /**
             * @description Other agents whose memory it may search.
             * @default []
             */
            memory_read: string[];
            /**
             * @description Context is searched for each message of its chats, as it always is in spaces.
             * @default null
             */
            memory_retrieval: boolean | null;
            /**
             * @description It uses only models of this machine.
             * @default null
             */
            local_only: boolean | null;
        };
        /** @description Names of tools, or `group:<name>`. Deny takes precedence. */
        ToolFields: {
            /**
             * @description None: every tool.
             * @default null
             */
            allow: string[] | null;
            /** @default [] */
            deny: string[];
            /** @description Commands that need no approval: each is the beginning of an argument list. */
            commands?: string[][];
        };
        SessionList: {
            sessions: components["schemas"]["SessionView"][];
            /**
             * Format: uuid
             * @description Give it as `before` to get the older ones; absent at the end.
             */
            before?: string | null;
            /** @description Why only titles and newest messages were searched, and not all messages. */
            degraded?: string | null;
        };
        /** @description One session as it appears on the wire. */
        SessionView: {
            /** Format: uuid */
            id: string;
            agent: string;
            origin: components["schemas"]["SessionOrigin"];
            /** @description The agents that answer, in this order. */
            agents: string[];
            mode: components["schemas"]["LaneOrder"];
            title: string | null;
            status: components["schemas"]["SessionStatus"];
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** Format: uint64 */
            message_count: number;
            /** Format: uint64 */
            token_count: number;
            preview: string;
            /** Format: uuid */
            root: string;
            /** Format: uuid */
            fork_turn: string | null;
            /** Format: uuid */
            last_run: string | null;
            last_run_status: components["schemas"]["RunStatus"] | null;
            /**
             * @description Whether something was answered since the person last read the session.
             * @default false
             */
            unread: boolean;
            /**
             * @description Whether the person keeps the session, with its forks, at the top of the list.
             * @default false
             */
            pinned: boolean;
            /** @description The tags by which the person sorts their conversations, in order. */
            tags?: string[];
            /** @description The thing that the conversation is about. */
            attached?: components["schemas"]["EntityRef"] | null;
            /**
             * @description In a list that was searched for a text: the matching message. Absent where only the title or
             *     the preview matches.
             */
            found?: components["schemas"]["FoundTurn"] | null;
        };
        /**
         * @description Where a session was begun. `temporary`: A chat that is not listed, not indexed, and deleted a day after its last use.
         * @enum {string}
         */
        SessionOrigin: "chat" | "companion" | "thread" | "agent_editor" | "connector" | "job" | "api" | "temporary";
        /**
         * @description How several agents answer one message. `sequential`: One after the other; each agent sees the earlier answers.
         * @enum {string}
         */
        LaneOrder: "parallel" | "sequential";
        /** @enum {string} */
        SessionStatus: "active" | "archived";
        /** @description One page, task, ref or project of a person. */
        EntityRef: {
            space: string;
            kind: components["schemas"]["EntityKind"];
            id: string;
        };
        /** @description The message of a conversation that matches best. */
        FoundTurn: {
            /**
             * Format: uuid
             * @description The session that holds the message: the listed one, or another fork of it.
             */
            session: string;
            /** Format: uuid */
            run?: string | null;
            /**
             * Format: uuid
             * @description The turn to scroll to.
             */
            turn?: string | null;
            author?: string | null;
            /** @description A part of the message in pieces; `hit` marks the pieces that match. */
            snippet: components["schemas"]["SnippetPart"][];
        };
        /** @description A part of a chunk's text, and whether it is what was looked for. */
        SnippetPart: {
            text: string;
            hit: boolean;
        };
        /** @description A session with its family, so that a client can switch within it. */
        SessionWithSiblings: {
            /** Format: uuid */
            id: string;
            agent: string;
            origin: components["schemas"]["SessionOrigin"];
            /** @description The agents that answer, in this order. */
            agents: string[];
            mode: components["schemas"]["LaneOrder"];
            title: string | null;
            status: components["schemas"]["SessionStatus"];
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** Format: uint64 */
            message_count: number;
            /** Format: uint64 */
            token_count: number;
            preview: string;
            /** Format: uuid */
            root: string;
            /** Format: uuid */
            fork_turn: string | null;
            /** Format: uuid */
            last_run: string | null;
            last_run_status: components["schemas"]["RunStatus"] | null;
            /**
             * @description Whether something was answered since the person last read the session.
             * @default false
             */
            unread: boolean;
            /**
             * @description Whether the person keeps the session, with its forks, at the top of the list.
             * @default false
             */
            pinned: boolean;
            /** @description The tags by which the person sorts their conversations, in order. */
            tags?: string[];
            /** @description The thing that the conversation is about. */
            attached?: components["schemas"]["EntityRef"] | null;
            /**
             * @description In a list that was searched for a text: the matching message. Absent where only the title or
             *     the preview matches.
             */
            found?: components["schemas"]["FoundTurn"] | null;
            /**
             * @description The first session of the family and all its forks, this one included, in the order of their
             *     creation.
             */
            siblings: components["schemas"]["Sibling"][];
        };
        Sibling: {
            /** Format: uuid */
            id: string;
            title: string | null;
            status: components["schemas"]["SessionStatus"];
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** Format: uint64 */
            message_count: number;
            preview: string;
            /**
             * Format: uuid
             * @description The turn at which it leaves the session it was forked from; absent for the first.
             */
            fork_turn: string | null;
        };
        /**
         * @description A person's feedback on an answer. Only the newest one about an answer counts, and no prompt ever
         *     contains feedback.
         */
        Feedback: {
            /**
             * Format: uuid
             * @description A turn of the answer, in the same log.
             */
            about: string;
            /** @description The rating; if it is absent, the earlier rating is withdrawn. */
            rating?: components["schemas"]["Rating"] | null;
            note?: string | null;
        };
        /** @enum {string} */
        Rating: "good" | "bad";
        TagList: {
            tags: components["schemas"]["TagCount"][];
        };
        /** @description A tag, and the number of conversations that have it. */
        TagCount: {
            tag: string;
            /** Format: uint64 */
            conversations: number;
        };
        QueuedMessages: {
            /** @description In the order in which they were sent. */
            messages: components["schemas"]["QueuedMessage"][];
        };
        QueuedMessage: {
            /**
             * Format: uuid
             * @description The message's turn in the log, once a run has read it.
             */
            id: string;
            /** @description A text, or parts as in `chat.send`. */
            content: unknown;
            /** Format: date-time */
            received_at: string;
        };
        TurnList: {
            turns: {
                /** Format: uuid */
                id: string;
                /** Format: date-time */
                ts: string;
                /** Format: uuid */
                run_id?: string;
                type: string;
            }[];
            /** Format: uint64 */
            before?: number | null;
        };
        /** @description One event of a run, in order. Every surface's format is a pure fold over these. */
        Envelope: {
            /** Format: uint64 */
            seq: number;
            /** Format: uuid */
            run_id: string;
            lane: components["schemas"]["LaneId"];
        } & ({
            /** @constant */
            type: "start";
            /** Format: uuid */
            session_id: string;
            agents: string[];
            model: string;
            /** @description The action of this run, if there is one. */
            action?: components["schemas"]["ActionRun"] | null;
        } | {
            /** @constant */
            type: "text_delta";
            /** Format: uuid */
            turn_id: string;
            agent: string;
            text: string;
        } | {
            /** @constant */
            type: "text_complete";
            /** Format: uuid */
            turn_id: string;
            agent: string;
            text: string;
        } | {
            /** @constant */
            type: "reasoning_delta";
            /** Format: uuid */
            turn_id: string;
            agent: string;
            text: string;
        } | {
            /** @constant */
            type: "tool_call";
            /** Format: uuid */
            turn_id: string;
            agent: string;
            tool_use_id: components["schemas"]["ToolUseId"];
            tool: string;
            input: unknown;
            /** @description One line for people, with secrets masked. */
            summary: string;
            label: components["schemas"]["CallLabel"];
        } | {
            /** @constant */
            type: "tool_output";
            tool_use_id: components["schemas"]["ToolUseId"];
            chunk: string;
        } | {
            /** @constant */
            type: "tool_result";
            /** Format: uuid */
            turn_id: string;
            tool_use_id: components["schemas"]["ToolUseId"];
            tool: string;
            ok: boolean;
            output: string;
            summary: string;
            /** Format: uint64 */
            duration_ms: number;
            report: components["schemas"]["CallReport"];
        } | {
            /** @constant */
            type: "draft";
            /** Format: uuid */
            draft_id: string;
            tool: string;
            summary: string;
            preview: components["schemas"]["Preview"];
            /** @default approval */
            asks_for: components["schemas"]["AsksFor"];
        } | {
            /** @constant */
            type: "confirm";
            /** Format: uuid */
            draft_id: string;
            tool: string;
            summary: string;
            preview: components["schemas"]["Preview"];
            /** @default approval */
            asks_for: components["schemas"]["AsksFor"];
            /** Format: date-time */
            expires_at: string;
        } | {
            /** @constant */
            type: "context";
            pieces: components["schemas"]["ContextPiece"][];
        } | {
            /** @constant */
            type: "status";
            message: string;
            code: components["schemas"]["StatusCode"];
        } | {
            /** @constant */
            type: "usage";
            /**
             * Format: uint64
             * @default 0
             */
            input: number;
            /**
             * Format: uint64
             * @default 0
             */
            output: number;
            /**
             * Format: uint64
             * @default 0
             */
            cache_read: number;
            /**
             * Format: uint64
             * @default 0
             */
            cache_write: number;
            /**
             * Format: double
             * @description The cost in the currency of the price data; absent if no price is known.
             */
            cost?: number | null;
        } | {
            /** @constant */
            type: "error";
            code: components["schemas"]["ErrorCode"];
            message: string;
            hint: string;
            /**
             * Format: uint64
             * @description When a retry may succeed.
             */
            retry_after_seconds?: number | null;
        } | {
            /** @constant */
            type: "done";
            /** Format: uuid */
            session_id: string;
            status: components["schemas"]["RunStatus"];
            assistant_turn_ids: string[];
            usage: components["schemas"]["Usage"];
        });
        /**
         * Format: uint16
         * @description One answering agent within a run.
         */
        LaneId: number;
        /** @description A chunk that retrieval supplied to a run. */
        ContextPiece: {
            source: string;
            /** @description The id of an attached source; of other files and of conversations, their path. */
            source_id: string;
            /** @description The id of the chunk, which is valid until its file is indexed again. */
            chunk_id: string;
            /** @description The title of the source for people. */
            title: string;
            /**
             * Format: uuid
             * @description The conversation and the message that the piece is from; absent for files.
             */
            session_id?: string | null;
            /** Format: uuid */
            turn?: string | null;
            scope: components["schemas"]["Scope"];
            origin: components["schemas"]["Origin"];
            /** Format: float */
            score: number;
            match_type: components["schemas"]["MatchType"];
            /** Format: uint32 */
            start_line: number;
            /** Format: uint32 */
            end_line: number;
        };
        /** @description Where a piece of knowledge belongs. */
        Scope: {
            /** @constant */
            type: "person";
        } | {
            /** @constant */
            type: "agent";
            id: string;
        } | {
            /** @constant */
            type: "space";
            id: string;
        } | {
            /** @constant */
            type: "channel";
            id: string;
        } | {
            /** @constant */
            type: "thread";
            id: string;
        } | {
            /** @constant */
            type: "shared";
        };
        /**
         * @description Where content came from, which decides whether it is trusted. `person`: Written or edited by the person. `agent`: Written by an agent that had read no external content. `agent_tainted`: Written by an agent after it had read external content. `external`: Content from outside: the web, captures, other people, tools' output.
         * @enum {string}
         */
        Origin: "person" | "agent" | "agent_tainted" | "external";
        /**
         * @description How a search found a chunk.
         * @enum {string}
         */
        MatchType: "fts" | "vec" | "hybrid";
        Undone: {
            /** @description Files that have their content from before the run again; with `dry_run`, files that would. */
            restored: string[];
            dry_run?: boolean;
        };
        Redone: {
            /** @description Files that have the content again that the run left in them. */
            restored: string[];
        };
        ChangesOfRun: {
            paths: string[];
            /** @description All files have their content from before the run again. */
            undone: boolean;
        };
        MembersChanges: {
            drafts: components["schemas"]["MembersChange"][];
        };
        /** @description A draft as clients see it. */
        MembersChange: {
            person: string;
            /** Format: uuid */
            id: string;
            state: components["schemas"]["DraftState"];
            tool: string;
            /** @description The strictest of its effects. */
            effect: components["schemas"]["ToolEffect"];
            summary: string;
            preview: components["schemas"]["Preview"];
            asks_for: components["schemas"]["AsksFor"];
            targets: string[];
            /** @description Whether its targets include files that steer agents. */
            instruction: boolean;
            /** @description The run had read content from outside before it proposed this. */
            tainted: boolean;
            /** @description Only the owner may approve it, even if it is a member's. */
            needs_owner: boolean;
            /** Format: uuid */
            session_id: string;
            /** Format: uuid */
            run_id: string;
            tool_use_id: components["schemas"]["ToolUseId"];
            agent: string;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            expires_at: string;
            /** @description Identifies exactly what will happen: send it back to approve what was shown. */
            plan_hash: string;
            /** Format: date-time */
            decided_at?: string | null;
            decided_by?: string | null;
            reason?: string | null;
            /** @description The output of the approved call. */
            output?: string | null;
            /** Format: uuid */
            superseded_by?: string | null;
        };
        /** @enum {string} */
        DraftState: "pending" | "applying" | "applied" | "failed" | "stale" | "unknown" | "rejected" | "superseded" | "expired";
        /** @description A draft as clients see it. */
        PendingChange: {
            /** Format: uuid */
            id: string;
            state: components["schemas"]["DraftState"];
            tool: string;
            /** @description The strictest of its effects. */
            effect: components["schemas"]["ToolEffect"];
            summary: string;
            preview: components["schemas"]["Preview"];
            asks_for: components["schemas"]["AsksFor"];
            targets: string[];
            /** @description Whether its targets include files that steer agents. */
            instruction: boolean;
            /** @description The run had read content from outside before it proposed this. */
            tainted: boolean;
            /** @description Only the owner may approve it, even if it is a member's. */
            needs_owner: boolean;
            /** Format: uuid */
            session_id: string;
            /** Format: uuid */
            run_id: string;
            tool_use_id: components["schemas"]["ToolUseId"];
            agent: string;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            expires_at: string;
            /** @description Identifies exactly what will happen: send it back to approve what was shown. */
            plan_hash: string;
            /** Format: date-time */
            decided_at?: string | null;
            decided_by?: string | null;
            reason?: string | null;
            /** @description The output of the approved call. */
            output?: string | null;
            /** Format: uuid */
            superseded_by?: string | null;
        };
        JobViews: {
            jobs: components["schemas"]["JobView"][];
        };
        /** @description When it runs and what it does. */
        JobView: {
            id: string;
            kind: components["schemas"]["KindView"];
            state: components["schemas"]["StateView"];
            /** @description Why it is paused. */
            reason?: string | null;
            /** @description The error in the job, if there is one. */
            error?: components["schemas"]["FlawView"] | null;
            warnings: string[];
            /** @description Send it back to accept the job as it was shown, and as `If-Match`. */
            hash: string;
            /** @description The changes since the accepted version, for a job that waits for acceptance. */
            diff?: string | null;
            /** @description The lines of `diff`, each with its kind. */
            diff_lines?: components["schemas"]["DiffLine"][];
            fields: {
                [key: string]: unknown;
            };
            prompt: string;
            /** @description The schedule in plain words. */
            words: string;
            timezone: string;
            /** @description The next five times. */
            next: string[];
            /** @description The times of the next seven days, at most a hundred. */
            week: string[];
            agent?: string | null;
            /** @description `prompt`, `command`, `action` or `system`. */
            does: string;
            deliver: string[];
            /** @description The result of the newest time. */
            last?: components["schemas"]["JobRunView"] | null;
            /**
             * Format: uint64
             * @description The number of failures that the person has not looked at.
             */
            troubles: number;
            /**
             * Format: uuid
             * @description The conversation that its runs continue.
             */
            session_id?: string | null;
        };
        /** @enum {string} */
        KindView: "file" | "action" | "system";
        /**
         * @description `waiting`: The current content of its file has not been accepted.
         * @enum {string}
         */
        StateView: "active" | "paused" | "disabled" | "broken" | "finished" | "waiting";
        FlawView: {
            field: string;
            message: string;
            /** @description An example of a correct value. */
            example?: string | null;
        };
        /** @description One time of a job and its result, or several consecutive times that were left out. */
        JobRunView: {
            /** Format: date-time */
            scheduled_at: string;
            /**
             * Format: date-time
             * @description The last of the times that this entry covers.
             */
            last_at: string;
            /**
             * Format: uint32
             * @description The number of times that this entry covers.
             */
            count: number;
            outcome: components["schemas"]["SlotState"];
            trigger: components["schemas"]["SlotTrigger"];
            /** Format: uuid */
            run_id: string | null;
            /** Format: uuid */
            session_id: string | null;
            /** Format: date-time */
            started_at: string | null;
            /** Format: date-time */
            ended_at: string | null;
            /** Format: double */
            cost: number | null;
            text: string;
            delivery: components["schemas"]["SlotDelivery"] | null;
        };
        /**
         * @description `queued`: The slot waits for a free place, or for an earlier run of the job to end. `nothing`: The job or its check ran, and there was nothing to report. `interrupted`: The process ended while the slot ran. The run is not repeated. `replaced`: A later slot was queued instead of this one. `skipped`: A rule of the job excluded this slot. `missed`: The scheduled time passed while no gateway could fire it.
         * @enum {string}
         */
        SlotState: "running" | "done" | "failed" | "queued" | "nothing" | "interrupted" | "replaced" | "skipped" | "missed";
        /**
         * @description The reason why a slot fires. `person`: A person asked for the run directly.
         * @enum {string}
         */
        SlotTrigger: "schedule" | "person";
        /**
         * @description Whether the result of a slot was delivered to its receivers other than the session.
         * @enum {string}
         */
        SlotDelivery: "pending" | "delivered" | "failed";
        /** @description A preview of a job, or the error in it. */
        JobPreview: {
            error?: components["schemas"]["FlawView"] | null;
            /** @description The schedule in plain words. */
            words: string;
            timezone: string;
            /** @description The next five times. */
            next: string[];
            /** @description The times of the next seven days, at most a hundred. */
            week: string[];
            agent?: string | null;
            /** @description `prompt`, `command`, `action` or `system`. */
            does: string;
            deliver: string[];
        };
        JobRuns: {
            runs: components["schemas"]["JobRunView"][];
            /**
             * Format: date-time
             * @description Give it as `before` to get the older ones; absent at the end.
             */
            before?: string | null;
        };
        SkillViews: {
            skills: components["schemas"]["SkillView"][];
        };
        SkillView: {
            name: string;
            place: components["schemas"]["SkillPlaceView"];
            /** @description The agent in whose folder the skill is. */
            agent?: string | null;
            /** @description The path of its `SKILL.md`, in the vault or in the agent's folder. */
            path: string;
            state: components["schemas"]["SkillStateView"];
            /** @description Why it is not a valid skill. */
            problem?: string | null;
            description: string;
            license?: string | null;
            compatibility?: string | null;
            metadata: {
                [key: string]: string;
            };
            /** @description The tools that it asks for. They are only shown: nothing is allowed by it. */
            allowed_tools?: string | null;
            /** @description The hash of all its files; send it back to accept the skill. */
            hash: string;
            /** @description The files beside its `SKILL.md`, with their sizes. */
            files: {
                [key: string]: number;
            };
            /** @description The whole `SKILL.md`; left out in lists. */
            text?: string | null;
            /** @description The changes that wait for acceptance, as a diff. */
            diff?: string | null;
            /** @description The lines of `diff`, each with its kind. */
            diff_lines?: components["schemas"]["DiffLine"][];
        };
        /**
         * @description `agent`: The folder `skills` of an agent, which its owner writes. `vault`: `agent/skills` of the vault. `vault_shared`: `.agents/skills` of the vault, which other programs also use.
         * @enum {string}
         */
        SkillPlaceView: "agent" | "vault" | "vault_shared";
        /**
         * @description `new`: It has not been accepted; agents do not see it. `changed`: It differs from what was accepted; agents do not see it. `shadowed`: Another skill with the same name is used instead.
         * @enum {string}
         */
        SkillStateView: "ready" | "broken" | "new" | "changed" | "shadowed";
        SkillFileView: {
            path: string;
            /** Format: uint64 */
            size: number;
            /** @description Absent where it is not text. */
            text?: string | null;
        };
        McpServerViews: {
            servers: components["schemas"]["McpServerView"][];
        };
        McpServerView: {
            name: string;
            /** @description The command line, or the address. */
            place: string;
            enabled: boolean;
            status: components["schemas"]["McpStatusView"];
            /** @description Why it fails. */
            problem?: string | null;
            /** @description The negotiated version of the protocol; absent before a connection. */
            protocol?: string | null;
            /** @description Whether a sign-in at the server exists. */
            signed_in: boolean;
            /** @description Hosts that its command may reach. */
            network: string[];
            /** @description The only agents that have its tools. */
            agents?: string[] | null;
            tools: components["schemas"]["McpToolView"][];
            /** @description The last lines of its error stream. */
            log: string[];
        };
        /**
         * @description `idle`: It is not in use; the next call starts it.
         * @enum {string}
         */
        McpStatusView: "starting" | "running" | "failing" | "idle";
        McpToolView: {
            name: string;
            description: string;
            schema: unknown;
            /** @description The effect that the server claims. It is only shown and grants nothing. */
            hints?: unknown;
            /** @description The effect that the owner set. */
            effect: components["schemas"]["ToolEffect"];
            state: components["schemas"]["McpToolStateView"];
            /** @description Why it cannot be used. */
            problem?: string | null;
            /** @description Send it back to accept the tool. */
            hash?: string | null;
            /** @description The changes that wait for acceptance, as a diff. */
            diff?: string | null;
            /** @description The lines of `diff`, each with its kind. */
            diff_lines?: components["schemas"]["DiffLine"][];
        };
        /**
         * @description `new`: It has not been accepted; agents cannot use it. `changed`: Its description differs from the accepted one; agents cannot use it. `missing`: It was accepted, but its server does not offer it any more. `off`: It is switched off.
         * @enum {string}
         */
        McpToolStateView: "ready" | "unusable" | "new" | "changed" | "missing" | "off";
        McpLoginBegun: {
            /** @description The address to open in the browser. */
            address: string;
            /** @description Comes back with the browser. */
            state: string;
        };
        PluginWires: {
            plugins: components["schemas"]["PluginWire"][];
        };
        PluginWire: {
            name: string;
            version?: string | null;
            description: string;
            state: components["schemas"]["PluginStateView"];
            enabled: boolean;
            status: components["schemas"]["PluginStatusView"];
            /** @description Why it does not work fully. */
            problems: string[];
            /** @description The access that it has once it is accepted, and no more. */
            grants: components["schemas"]["GrantsView"];
            hooks: components["schemas"]["HookView"][];
            /** @description The networks that it adds. */
            connectors: string[];
            /** @description The MCP servers that it adds; their tools wait for acceptance. */
            mcp_servers: string[];
            /** @description The skills that it adds; they wait for acceptance. */
            skills: string[];
            /** @description A JSON schema of its settings. */
            config_schema?: unknown;
            /** @description Its settings in the config, secrets shortened. */
            config: {
                [key: string]: unknown;
            };
            /** @description Send it back to accept the plugin. */
            hash?: string | null;
            /** @description The changes that wait for acceptance, as a diff. */
            diff?: string | null;
            /** @description The lines of `diff`, each with its kind. */
            diff_lines?: components["schemas"]["DiffLine"][];
            /** @description The last lines of its program's error stream. */
            log: string[];
        };
        /**
         * @description `new`: It has not been accepted; nothing of it is active. `changed`: It differs from what was accepted; nothing of it runs. `missing`: It is enabled, but its folder is gone.
         * @enum {string}
         */
        PluginStateView: "accepted" | "broken" | "new" | "changed" | "missing";
        /**
         * @description `failing`: It failed and is restarted, after a longer wait with each failure. `parked`: It failed too often, or is not what it claims to be; it is not restarted automatically.
         * @enum {string}
         */
        PluginStatusView: "idle" | "starting" | "running" | "failing" | "parked";
        GrantsView: {
            /** @description Hosts that it may reach. */
            network: string[];
            /** @description Folders that it may read. */
            read: string[];
            /** @description Folders that it may change. */
            write: string[];
            /** @description The names of the secrets that it gets. */
            secrets: string[];
            events: string[];
            /** @description The people whose events it gets; `*` is all people. */
            people: string[];
            /** @description It sees texts, arguments and results. */
            content: boolean;
        };
        HookView: {
            event: string;
            /** @description It can veto calls; without its answer the call does not happen. */
            veto: boolean;
            annotate: boolean;
            /** @description The tools whose calls it hears of; empty: all tools. */
            tools: string[];
            /** Format: uint64 */
            deadline_ms: number;
        };
        AccountList: {
            /** @description The supported networks. */
            networks: string[];
            accounts: components["schemas"]["AccountJson"][];
            /** @description Which agent answers which peers; the most specific matching binding applies. */
            bindings: components["schemas"]["BindingJson"][];
            /** @description Notices for the owner since the server started, newest first. */
            notices: components["schemas"]["NoticeJson"][];
        };
        /** @description One account and its state. */
        AccountJson: {
            network: string;
            account: string;
            state: components["schemas"]["AccountState"];
            /** @description The gateway that serves the account, if it is another one and its name is known. */
            gateway: string | null;
            /** @description What is wrong, if anything is. */
            detail: string | null;
            /** @description The account's name on the network. */
            name: string | null;
            /** @description A link at which people can write to the account. */
            link: string | null;
            /** @description The link as a QR code for phones. */
            qr: components["schemas"]["QrPicture"] | null;
            /** @description The agent that answers a new peer. */
            agent: string;
            /** @description When the network last answered. */
            last_heard: string | null;
            /** Format: uint64 */
            silent_seconds: number | null;
            /** Format: uint64 */
            restarts: number;
            /**
             * Format: uint64
             * @description Messages that wait to be answered, and to be sent.
             */
            incoming: number;
            /** Format: uint64 */
            outgoing: number;
            /** Format: uint64 */
            dead_letters: number;
        };
        /**
         * @description `listening`: The network answers. `failing`: The last request to the network failed and is repeated. `deaf`: Nothing was received for too long. `unusable`: The account cannot be started with its settings. `elsewhere`: Another gateway serves the account, and shows whether the network answers.
         * @enum {string}
         */
        AccountState: "starting" | "listening" | "failing" | "deaf" | "unusable" | "elsewhere";
        /** @description The dark squares of a QR code, with the empty margin that readers need. */
        QrPicture: {
            /**
             * Format: uint32
             * @description The number of squares along one side.
             */
            size: number;
            /** @description The squares as an SVG path, in which each is one unit wide. */
            path: string;
        };
        /** @description A binding of the config; a field that it leaves out matches everything. */
        BindingJson: {
            agent: string;
            network: string | null;
            account: string | null;
            guild: string | null;
            peer: string | null;
            thread: string | null;
        };
        NoticeJson: {
            at: string;
            text: string;
        };
        /** @description A person or group that the account talks to. */
        PeerJson: {
            network: string;
            account: string;
            /** @description The network's own id. */
            id: string;
            kind: components["schemas"]["PeerKind"];
            name: string;
            state: components["schemas"]["PeerState"];
            /** @description Whether it talks to the caller's own agents. */
            is_mine: boolean;
            /** @description The agent that answers the peer. */
            agent: string;
            /** @description The pairing code of the peer while it waits for approval. */
            code: string | null;
            last_seen: string;
        };
        /** @enum {string} */
        PeerKind: "person" | "group";
        /**
         * @description `waiting`: The peer has a pairing code and waits for a person's approval.
         * @enum {string}
         */
        PeerState: "paired" | "blocked" | "waiting";
        /** @description What the network reports about a token. */
        TestedAccount: {
            name: string;
            link: string | null;
            /** @description The link as a QR code for phones. */
            qr: components["schemas"]["QrPicture"] | null;
        };
        MailList: {
            messages: components["schemas"]["MailJson"][];
        };
        MailJson: {
            /** Format: int64 */
            id: number;
            text: string;
        };
        /** @description One account and its state. */
        AccountDetails: {
            network: string;
            account: string;
            state: components["schemas"]["AccountState"];
            /** @description The gateway that serves the account, if it is another one and its name is known. */
            gateway: string | null;
            /** @description What is wrong, if anything is. */
            detail: string | null;
            /** @description The account's name on the network. */
            name: string | null;
            /** @description A link at which people can write to the account. */
            link: string | null;
            /** @description The link as a QR code for phones. */
            qr: components["schemas"]["QrPicture"] | null;
            /** @description The agent that answers a new peer. */
            agent: string;
            /** @description When the network last answered. */
            last_heard: string | null;
            /** Format: uint64 */
            silent_seconds: number | null;
            /** Format: uint64 */
            restarts: number;
            /**
             * Format: uint64
             * @description Messages that wait to be answered, and to be sent.
             */
            incoming: number;
            /** Format: uint64 */
            outgoing: number;
            /** Format: uint64 */
            dead_letters: number;
            /** @description The settings in onyx.json, secrets shortened. */
            settings: {
                [key: string]: unknown;
            };
        };
        LetterList: {
            dead_letters: components["schemas"]["LetterJson"][];
        };
        LetterJson: {
            /** @description `in-…` for a message that could not be answered, `out-…` for one that did not arrive. */
            id: string;
            peer: string;
            /** @description Whether it may have arrived. */
            unknown: boolean;
            text: string;
            why: string;
            at: string;
        };
        PeerList: {
            peers: components["schemas"]["PeerJson"][];
        };
        PendingChanges: {
            drafts: components["schemas"]["PendingChange"][];
            /**
             * Format: uuid
             * @description Give it as `before` to get the older ones; absent at the end.
             */
            before?: string | null;
        };
        AuditPage: {
            /** @description Newest first. */
            rows: components["schemas"]["AuditRowView"][];
            /**
             * Format: uint64
             * @description Give it as `before` to get the older ones; absent at the end.
             */
            before?: number | null;
        };
        AuditRowView: {
            person: string;
            /** Format: uint64 */
            seq: number;
            /** Format: date-time */
            ts: string;
            actor_kind: string;
            actor: string;
            agent: string | null;
            /** Format: uuid */
            session_id: string | null;
            /** Format: uuid */
            run_id: string | null;
            tool: string | null;
            effect: string | null;
            decision: string | null;
            diff_summary: string;
            /** @description The summary with each hash in it shortened, for people. */
            short_summary: string;
            result: string;
            /** @description Hash of the previous row. */
            previous: string;
            hash: string;
        };
        AuditChains: {
            chains: components["schemas"]["AuditChain"][];
        };
        AuditChain: {
            person: string;
            whole: boolean;
            /** Format: uint64 */
            rows?: number | null;
            /**
             * Format: uint64
             * @description Up to this row no available key protects the chain: the rows are older than the key, or came
             *     with a home whose key is kept elsewhere.
             */
            unkeyed_until?: number | null;
            /**
             * Format: uint64
             * @description The first row that is missing, changed or does not belong.
             */
            broken_at?: number | null;
        };
        Reindexed: {
            /** Format: uint64 */
            sessions: number;
            /**
             * Format: uint64
             * @description Logs with unreadable lines; their other lines were read.
             */
            damaged: number;
            /**
             * Format: uint64
             * @description Files that were read for the index, and how many of them had changed.
             */
            files: number;
            /** Format: uint64 */
            changed: number;
        };
        ConfigView: {
            /**
             * @description The file, with keys shortened; empty where there is none. `PUT` it back as it is or edited:
             *     a shortened key stands for the one in the file.
             */
            text: string;
            /** @description Settings that work but are probably not what was meant. */
            warnings: string[];
            /** @description Why the file is not in effect. */
            error: components["schemas"]["ConfigFlaw"] | null;
            /** @description Where the file is not in effect: the config that is, with keys shortened. */
            last_good: string | null;
        };
        ConfigFlaw: {
            message: string;
            /** @description The path of the key that caused the error, where it is a single one. */
            field: string | null;
        };
        ImportReport: {
            /** @description Whether this was a dry run, in which nothing was written. */
            dry_run: boolean;
            counts: {
                agent?: components["schemas"]["ImportCounts"];
                connector?: components["schemas"]["ImportCounts"];
                file?: components["schemas"]["ImportCounts"];
                job?: components["schemas"]["ImportCounts"];
                mcp_server?: components["schemas"]["ImportCounts"];
                memory?: components["schemas"]["ImportCounts"];
                persona?: components["schemas"]["ImportCounts"];
                provider?: components["schemas"]["ImportCounts"];
                session?: components["schemas"]["ImportCounts"];
                skill?: components["schemas"]["ImportCounts"];
            };
            entries: components["schemas"]["ImportEntry"][];
            /** @description Items of the other program that Onyx did not take, with the reason. */
            left_out: components["schemas"]["ImportRemark"][];
            /** @description Items that have another name in Onyx. */
            renamed: components["schemas"]["ImportRemark"][];
        };
        ImportCounts: {
            /** Format: uint64 */
            new: number;
            /**
             * Format: uint64
             * @description A part of the item existed; the rest was added.
             */
            added: number;
            /** Format: uint64 */
            already_there: number;
            /**
             * Format: uint64
             * @description Another item exists in its place, and was not changed.
             */
            kept: number;
        };
        ImportEntry: {
            kind: components["schemas"]["ImportKind"];
            name: string;
            outcome: components["schemas"]["ImportOutcome"];
            why?: string | null;
        };
        /** @enum {string} */
        ImportKind: "agent" | "provider" | "connector" | "mcp_server" | "persona" | "memory" | "file" | "skill" | "job" | "session";
        /**
         * @description The result for one item; in a dry run, the result that it would have. `kept`: Another item exists in its place, and was not changed.
         * @enum {string}
         */
        ImportOutcome: "new" | "added" | "already_there" | "kept";
        ImportRemark: {
            what: string;
            why: string;
        };
        ImportLine: {
            /** @constant */
            type: "progress";
            /** Format: uint */
            done: number;
            /** Format: uint */
            total: number;
        } | {
            /** @constant */
            type: "report";
            report: components["schemas"]["ImportReport"];
        } | components["schemas"]["Fault"];
        Providers: {
            providers: components["schemas"]["ProviderView"][];
        };
        ProviderView: {
            name: string;
            kind: string | null;
            /** @description `ready` or `disabled`. */
            state: string;
            /** @description Why it is disabled, or what fails. */
            detail?: string | null;
            address?: string | null;
            /** @description The key, shortened so that it cannot be used. */
            key?: string | null;
            locality?: string | null;
            /** @description `untried`, `well` or `failing`. */
            health: string;
            /** @description The models that the config names. */
            models: string[];
            /** @description The models that were called since the start. */
            called: components["schemas"]["CalledModelView"][];
            /** @description The sign-in, for a provider that people sign in at. */
            login?: components["schemas"]["LoginView"] | null;
            /** @description The account that is used, where this machine's own identity replaces a key. */
            account?: string | null;
        };
        CalledModelView: {
            model: string;
            /** @description `closed`, `open` (calls are paused) or `half_open` (one call tries it). */
            circuit: string;
            /**
             * Format: uint32
             * @description Failures in a row.
             */
            failures: number;
            /** Format: uint64 */
            next_try_seconds?: number | null;
            /** Format: uint64 */
            calls: number;
            /** Format: uint64 */
            answered: number;
            /** Format: uint64 */
            retries: number;
            /** Format: double */
            first_content_ms?: number | null;
            last_failure?: components["schemas"]["FailureView"] | null;
        };
        FailureView: {
            /** Format: date-time */
            at: string;
            class: string;
            message: string;
        };
        /** @description Fields that do not apply are null. */
        LoginView: {
            /** @description `none`, `waiting`, `signed_in`, `failed` or `sign_in_again`. */
            state: string;
            account: string | null;
            user_code: string | null;
            verification_uri: string | null;
            /** Format: date-time */
            expires_at: string | null;
            /** @description Why the last attempt failed, or why a new sign-in is needed. */
            error: string | null;
            /**
             * Format: date-time
             * @description When a sign-in ends that cannot be renewed automatically.
             */
            until: string | null;
            /** @description The ways to sign in: `code`, `browser`. */
            ways: string[];
            /** @description The last known usage of a plan's quota. */
            quota: components["schemas"]["QuotaView"] | null;
        };
        QuotaView: {
            /** @description The name of the limit, for people. */
            limit: string;
            /** Format: uint8 */
            used_percent: number | null;
            /** Format: date-time */
            resets_at: string | null;
        };
        FoundProviders: {
            found: components["schemas"]["FoundProviderView"][];
        };
        /** @description A server that answered at its usual address. */
        FoundProviderView: {
            /** @description The vendor's name: a provider of this name needs no other settings. */
            name: string;
            base_url: string;
            models: string[];
            /** @description The first of its models that answers and is not only for embeddings. */
            answers_with?: string | null;
            /** Format: uint64 */
            latency_ms: number;
        };
        ProviderDetails: {
            name: string;
            kind: string | null;
            /** @description `ready` or `disabled`. */
            state: string;
            /** @description Why it is disabled, or what fails. */
            detail?: string | null;
            address?: string | null;
            /** @description The key, shortened so that it cannot be used. */
            key?: string | null;
            locality?: string | null;
            /** @description `untried`, `well` or `failing`. */
            health: string;
            /** @description The models that the config names. */
            models: string[];
            /** @description The models that were called since the start. */
            called: components["schemas"]["CalledModelView"][];
            /** @description The sign-in, for a provider that people sign in at. */
            login?: components["schemas"]["LoginView"] | null;
            /** @description The account that is used, where this machine's own identity replaces a key. */
            account?: string | null;
            /** @description `providers.<name>` of onyx.json, keys shortened; its version is the ETag. */
            settings: {
                [key: string]: unknown;
            };
        };
        TestView: {
            name: string;
            ok: boolean;
            /** @description What is right or wrong, and what to do. */
            advice: string;
            /** @description `disabled`, `dns`, `refused`, `tls`, `key`, …; none when it works. */
            trouble?: string | null;
            /** Format: double */
            latency_ms?: number | null;
            /** Format: uint */
            model_count?: number | null;
        };
        Models: {
            models: components["schemas"]["ModelView"][];
        };
        /** @description A model; a field is absent where its value is unknown. */
        ModelView: {
            /** @description `<provider>/<model>`. */
            id: string;
            /** Format: uint32 */
            context_window?: number | null;
            /** Format: uint32 */
            max_output_tokens?: number | null;
            price?: components["schemas"]["PriceView"] | null;
            inputs?: string[] | null;
            tools?: boolean | null;
            reasoning?: boolean | null;
            locality?: string | null;
            /** @description It failed recently and is paused for now. */
            rests: boolean;
            /** @description The model's files, for a model on this machine that is requested by its id. */
            weights?: components["schemas"]["WeightsView"] | null;
        };
        /** @description Per million tokens, in US dollars. */
        PriceView: {
            /** Format: double */
            input: number;
            /** Format: double */
            output: number;
            /** Format: double */
            cache_read?: number | null;
            /** Format: double */
            cache_write?: number | null;
        };
        WeightsView: {
            files: components["schemas"]["WeightsFileView"][];
            licence?: string | null;
            /**
             * Format: uint32
             * @description The context window that it was trained with, in tokens.
             */
            trained_window?: number | null;
            /** @description Whether it is in memory now. */
            loaded: boolean;
        };
        WeightsFileView: {
            path: string;
            /** Format: uint64 */
            bytes: number;
            /** @description The expected SHA-256, where it is known. */
            pinned_sha256?: string | null;
        };
        /** @description A code that waits to be entered, or a page that waits to be opened. */
        LoginBegun: {
            /** @description Always `waiting`. */
            state: string;
            /** @description `code` or `browser`. */
            way: string;
            /** @description The code to enter on the page; none where the browser returns automatically. */
            user_code: string | null;
            /** @description The page to open. */
            verification_uri: string;
            /** @description An address that contains the code already, where the provider offers one. */
            verification_uri_complete: string | null;
            /** Format: date-time */
            expires_at: string;
        };
        /** @description `agents.defaults.model` of onyx.json. */
        DefaultModel: {
            /** @description `<provider>/<model>`; null uses the first provider that works. */
            primary: string | null;
            /**
             * @description Tried in this order when the primary model cannot answer.
             * @default []
             */
            fallbacks: string[];
        };
        /** @description Today's spending and its limits; 0 is no limit. In the currency of the price data. */
        Budgets: {
            /** @description UTC, `YYYY-MM-DD`. */
            day: string;
            /** Format: double */
            limit_per_run: number;
            /** Format: double */
            limit_per_person: number;
            /** Format: double */
            limit_per_agent: number;
            people: components["schemas"]["Account"][];
            agents: components["schemas"]["Account"][];
        };
        Account: {
            name: string;
            /** Format: double */
            cost: number;
            /** Format: uint64 */
            tokens: number;
        };
        UsageReport: {
            since: string;
            until: string;
            total: components["schemas"]["Sum"];
            /** @description Each list holds every part of the total once, sorted by name; days without use are left out. */
            days: components["schemas"]["Sum"][];
            agents: components["schemas"]["Sum"][];
            models: components["schemas"]["Sum"][];
            people: components["schemas"]["Sum"][];
        };
        Sum: {
            /** @description The day, agent, model or person; empty for the total, and where the model is unknown. */
            name: string;
            /** Format: uint64 */
            input: number;
            /** Format: uint64 */
            output: number;
            /** Format: uint64 */
            cache_read: number;
            /** Format: uint64 */
            cache_write: number;
            /**
             * Format: double
             * @description In the currency of the price data; models without a known price count as zero.
             */
            cost: number;
        };
        GatewayList: {
            /** @description Empty where a single process runs without a shared database. */
            gateways: components["schemas"]["GatewayView"][];
        };
        /** @description One of several gateways, and what it does. */
        GatewayView: {
            id: string;
            /** @description The address at which the other gateways reach it. */
            url: string;
            /** @description The version of its program. */
            version: string;
            state: components["schemas"]["GatewayViewState"];
            /** @description Whether this gateway answers the request. */
            answers_you: boolean;
            /**
             * Format: date-time
             * @description When it started.
             */
            since: string;
            /**
             * Format: uint64
             * @description Milliseconds since it last reported to the database.
             */
            silent_for_ms: number;
            /**
             * Format: uint64
             * @description Answers in progress.
             */
            runs: number;
            /**
             * Format: uint64
             * @description Jobs in progress.
             */
            jobs: number;
            /**
             * Format: uint64
             * @description Approved changes that it is applying.
             */
            drafts: number;
            /** @description The connector accounts that it serves. */
            connectors: string[];
            /** @description Other duties that one gateway performs for all. */
            duties: components["schemas"]["GatewayDuty"][];
        };
        /**
         * @description `silent`: It has not reported for too long. The other gateways took over what it held. `draining`: Its answers in progress end, and it begins nothing new. `drained`: It holds nothing and begins nothing until it is restarted.
         * @enum {string}
         */
        GatewayViewState: "serving" | "silent" | "draining" | "drained";
        /** @description A duty that one gateway performs for all. */
        GatewayDuty: {
            /** @constant */
            kind: "cleans_up";
        } | {
            /** @constant */
            kind: "renews_sign_in";
            of: string;
        } | {
            /** @constant */
            kind: "awaits_sign_in";
            of: string;
        } | {
            /** @constant */
            kind: "imports_source";
            of: string;
        } | {
            /** @constant */
            kind: "reads_facts";
        } | {
            /** @constant */
            kind: "makes_vectors";
        } | {
            /** @constant */
            kind: "other";
            name: string;
        };
        LogLines: {
            lines: components["schemas"]["LogLine"][];
        };
        /** @description One line of the log. */
        LogLine: {
            /**
             * Format: uint64
             * @description Rises by one with each line; give it as `after` to continue from there.
             */
            seq: number;
            /** Format: date-time */
            ts: string;
            level: components["schemas"]["LogLevel"];
            /** @description The part of the program that logged the line. */
            target: string;
            message: string;
            /** @description Run, session, request and other details. */
            fields?: {
                [key: string]: unknown;
            };
        };
        /** @enum {string} */
        LogLevel: "trace" | "debug" | "info" | "warn" | "error";
        /** @description The current log level, and the level at the next start. */
        LogLevels: {
            /** @description This level and more severe ones. */
            level: components["schemas"]["LogLevel"];
            /** @description The level at the next start: that of `ONYX_LOG`, or `info`. */
            at_start: components["schemas"]["LogLevel"];
        };
        SourceList: {
            sources: components["schemas"]["SourceView"][];
        };
        SourceView: {
            id: string;
            scope: components["schemas"]["Scope"];
            kind: string;
            /** @description The path, address or name of its origin. */
            from?: string | null;
            title: string;
            state: components["schemas"]["SourceState"];
            error?: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            synced_at?: string | null;
            documents: components["schemas"]["DocumentView"][];
        };
        /** @enum {string} */
        SourceState: "importing" | "interrupted" | "ready" | "partial" | "failed";
        DocumentView: {
            from: string;
            title: string;
            /** Format: uint64 */
            bytes: number;
            error?: string | null;
        };
        /** @description The progress of an import; the last event of a stream has another state than `importing`. */
        ProgressView: {
            state: components["schemas"]["SourceState"];
            /** Format: uint */
            done: number;
            /** Format: uint */
            failed: number;
            /** Format: uint */
            total?: number | null;
            current?: string | null;
        };
        /** @description What was found, best first. */
        SearchResultsView: {
            results: components["schemas"]["SearchHitView"][];
            /** @description The search used words only, not meaning; `reason` says why. */
            degraded: boolean;
            reason?: string | null;
            /** @description Not everything is indexed yet: a later search may find more. */
            partial: boolean;
        };
        SearchHitView: {
            /** @description The kind: a memory, a note, a page, … */
            source: components["schemas"]["SourceKind"];
            path: string;
            title: string;
            heading: string;
            scope: components["schemas"]["Scope"];
            origin: components["schemas"]["Origin"];
            /** Format: uint32 */
            start_line: number;
            /** Format: uint32 */
            end_line: number;
            text: string;
            /** @description A part of the text in pieces; `hit` marks the pieces that match. */
            snippet: components["schemas"]["SnippetPart"][];
            /** Format: float */
            score: number;
            match_type: components["schemas"]["MatchType"];
            /** Format: date-time */
            modified: string;
            /**
             * Format: uuid
             * @description For a message: its conversation, run and turn.
             */
            session?: string | null;
            /** Format: uuid */
            run?: string | null;
            /** Format: uuid */
            turn?: string | null;
            /** @description The author of the text. */
            author?: string | null;
            /**
             * Format: date-time
             * @description When it was written.
             */
            time?: string | null;
        };
        /**
         * @description The kinds of documents. `source`: The text of a knowledge source that a person attached.
         * @enum {string}
         */
        SourceKind: "memory" | "daily" | "note" | "page" | "task" | "ref" | "project" | "session" | "shared" | "source";
        Remembered: {
            /** @description The file that was written. */
            path: string;
        };
        /** @description The state of the index, to explain why something was not found. */
        IndexStatus: {
            /** Format: uint64 */
            sources: number;
            /** Format: uint64 */
            chunks: number;
            /**
             * Format: uint64
             * @description The number of chunks that can be found by meaning.
             */
            vectors: number;
            /** @description Whether everything was looked through since the start. */
            complete: boolean;
            /**
             * Format: uint
             * @description The number of files that are waiting to be read.
             */
            waiting: number;
            /** @description How far the current look through files and sessions is. */
            progress: components["schemas"]["Progress"] | null;
            /** Format: date-time */
            synced_at: string | null;
            embedding: components["schemas"]["EmbeddingState"];
            watching: components["schemas"]["Watching"];
            /** @description The last error, if the work has not succeeded since. */
            error: string | null;
            /**
             * Format: uint64
             * @description The number of files in which nothing can be found.
             */
            problem_count: number;
            problems: components["schemas"]["UnindexedFile"][];
        };
        EmbeddingState: {
            /** @constant */
            state: "off";
        } | {
            /** @constant */
            state: "ready";
            model: string;
        } | {
            /** @constant */
            state: "failing";
            model: string;
            reason: string;
        };
        Watching: {
            /** @constant */
            state: "off";
        } | {
            /** @constant */
            state: "on";
        } | {
            /** @constant */
            state: "failing";
            reason: string;
        };
        /** @description A file in which nothing can be found, and why. */
        UnindexedFile: {
            path: string;
            reason: string;
        };
        FileList: {
            files: components["schemas"]["FileView"][];
            /** @description Give it as `after` for the rest. */
            after?: string | null;
        };
        FileView: {
            path: string;
            source: components["schemas"]["SourceKind"];
            scope: components["schemas"]["Scope"];
            title: string;
            origin: components["schemas"]["Origin"];
            /** Format: uint64 */
            size: number;
            /** Format: date-time */
            modified: string;
            /** @description Why its content is not indexed. */
            problem: string | null;
        };
        Graph: {
            /** @description The entities, those with the newest facts first; empty if a single one was requested. */
            entities: components["schemas"]["GraphEntity"][];
            /** @description The entity that was requested or changed. */
            entity?: components["schemas"]["GraphEntityPage"] | null;
        };
        GraphEntity: {
            name: string;
            /** Format: uint64 */
            facts: number;
            /** Format: date-time */
            last_said: string;
        };
        GraphEntityPage: {
            name: string;
            /** @description Other names that were merged into this one. */
            also: string[];
            /** @description Grouped by relation, newest first. */
            facts: components["schemas"]["FactView"][];
            /** @description Not all texts have been processed yet. */
            partial: boolean;
        };
        FactView: {
            subject: string;
            relation: string;
            object: string;
            /** @description The object is an entity too. */
            object_is_entity: boolean;
            /** Format: date-time */
            from: string;
            /**
             * Format: date-time
             * @description Absent while the fact holds.
             */
            until?: string | null;
            /** @description False: only text from outside supports it. */
            trusted: boolean;
            /** @description The texts that state the fact, newest last. */
            sources: components["schemas"]["FactSource"][];
        };
        FactSource: {
            path: string;
            title: string;
            /**
             * Format: uint32
             * @description The line, from 1; for a conversation, the number of the message in its run.
             */
            line: number;
            text: string;
            origin: components["schemas"]["Origin"];
            /** Format: date-time */
            said_at: string;
            /** @description `rules`, or the model that found it. */
            found_by: string;
            author?: string | null;
            /**
             * Format: uuid
             * @description The conversation and the message that state it; absent for a file.
             */
            session_id?: string | null;
            /** Format: uuid */
            turn?: string | null;
        };
        KeepingReport: {
            /** @description The drafts that wait for a decision. */
            drafts: string[];
            /**
             * Format: uuid
             * @description Absent where there were no daily logs to read.
             */
            session_id?: string | null;
            /** Format: uuid */
            run_id?: string | null;
            status?: components["schemas"]["RunStatus"] | null;
        };
        /** @description The signed-in person, and the key that the page sends with every request. */
        SignedIn: {
            person: string;
            name: string | null;
            role: components["schemas"]["Role"];
            credential: components["schemas"]["CallerKind"];
            scopes: components["schemas"]["Grant"][];
            /** Format: date-time */
            expires_at: string | null;
            /**
             * @description Sent as `X-Onyx-Page-Key`: without it the cookie alone is not accepted. It is given only
             *     here.
             */
            page_key: string;
        };
        /** @enum {string} */
        Role: "owner" | "member";
        /**
         * @description How a caller proved who they are. `local_user`: The home's own socket: the kernel reports that the caller is the user who runs the server. `owner_token`: The owner's token, from the config or the token file. `access`: A short-lived token, which a refresh token was exchanged for.
         * @enum {string}
         */
        CallerKind: "token" | "session" | "password" | "local_user" | "owner_token" | "access";
        /**
         * @description One right that a credential may have. `read`: Reading the person's data. `write`: Changing the person's data, and approving what agents propose to change. `chat`: Using agents and models. `admin`: The rights of the owner, which have no effect in a member's credential.
         * @enum {string}
         */
        Grant: "read" | "write" | "chat" | "admin";
        TokenReply: {
            access_token: string;
            refresh_token: string;
            token_type: string;
            /** Format: uint64 */
            expires_in: number;
        };
        PairingBegun: {
            pairing_id: string;
            code: string;
            /** Format: uint64 */
            expires_in: number;
        };
        PairingReply: {
            status: components["schemas"]["PairingState"];
            /** @description The token, for a device. */
            token?: string | null;
            /**
             * @description The page key, for a browser, in addition to its cookie: sent as `X-Onyx-Page-Key` with every
             *     request.
             */
            page_key?: string | null;
        };
        /** @enum {string} */
        PairingState: "pending" | "approved" | "rejected";
        Me: {
            person: string;
            name: string | null;
            role: components["schemas"]["Role"];
            credential: components["schemas"]["CallerKind"];
            scopes: components["schemas"]["Grant"][];
            /** Format: date-time */
            expires_at: string | null;
        };
        People: {
            people: components["schemas"]["Person"][];
        };
        /** @description A human with an account here. */
        Person: {
            id: string;
            name: string | null;
            role: components["schemas"]["Role"];
            source: components["schemas"]["PersonSource"];
            has_password: boolean;
        };
        /**
         * @description Where a person is declared, which is where they can be changed. `config`: `people` of onyx.json, or VALID_PERSONS. `added`: The person was made at the first start, or added later.
         * @enum {string}
         */
        PersonSource: "config" | "added";
        Credentials: {
            tokens: components["schemas"]["CredentialView"][];
        };
        /** @description A credential without its secret. */
        CredentialView: {
            /** Format: uuid */
            id: string;
            kind: components["schemas"]["CredentialKind"];
            name: string;
            people: string[];
            scopes: components["schemas"]["Grant"][];
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            expires_at: string | null;
        };
        /**
         * @description `token`: A token for programs, `onyx_sk_…`. `session`: The cookie of a browser. `refresh`: A credential with which an SDK gets short-lived tokens.
         * @enum {string}
         */
        CredentialKind: "token" | "session" | "refresh";
        /** @description A credential without its secret. */
        TokenMade: {
            /** Format: uuid */
            id: string;
            kind: components["schemas"]["CredentialKind"];
            name: string;
            people: string[];
            scopes: components["schemas"]["Grant"][];
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            expires_at: string | null;
            /** @description Shown only here. */
            token: string;
        };
        Pairings: {
            pairings: components["schemas"]["Pairing"][];
        };
        /** @description A device that waits, as the owner sees it. */
        Pairing: {
            code: string;
            name: string;
            client: components["schemas"]["PairingFor"];
            /** Format: uint64 */
            expires_in: number;
        };
        /**
         * @description The credential that the device asks for. `browser`: A cookie. `device`: An API token.
         * @enum {string}
         */
        PairingFor: "browser" | "device";
        Link: {
            /** @description An address to open in a browser on the machine that runs the server. */
            url: string;
        };
        SecretList: {
            secrets: components["schemas"]["SecretView"][];
        };
        /** @description A secret as it may be shown. */
        SecretView: {
            name: string;
            /** @description A shortened value, just enough to recognise the secret. */
            hint: string;
            /** Format: date-time */
            updated_at: string;
            /** @description The place of the key that opens the secret. */
            key: components["schemas"]["KeyPlace"];
            /** @description Why the secret cannot be used, if it cannot. */
            error?: string | null;
        };
        /**
         * @description The place of a key. `master_key`: The key is made from the key that all gateways of a server are given.
         * @enum {string}
         */
        KeyPlace: "keyring" | "file" | "master_key";
        Rotated: {
            /** Format: uint */
            rotated: number;
        };
        PersonaEvent: {
            /** @constant */
            type: "text_delta";
            content: string;
        } | {
            /** @constant */
            type: "text_complete";
            /** Format: uuid */
            id: string;
            content: string;
        } | {
            /** @constant */
            type: "tool_call";
            /** Format: uuid */
            id: string;
            toolUseId: components["schemas"]["ToolUseId"];
            toolName: string;
            input: unknown;
            label: components["schemas"]["CallLabel"];
        } | {
            /** @constant */
            type: "tool_result";
            /** Format: uuid */
            id: string;
            toolUseId: components["schemas"]["ToolUseId"];
            output: string;
            isError?: boolean;
            report: components["schemas"]["CallReport"];
        } | {
            /** @constant */
            type: "done";
        } | {
            /** @constant */
            type: "error";
            message: string;
        };
        PersonaCleared: {
            /** Format: uuid */
            sessionId: string;
        };
        PersonaHistory: {
            turns: components["schemas"]["PersonaTurn"][];
            /**
             * Format: uint64
             * @description Give it as `before` to get the messages before these; absent at the beginning.
             */
            before?: number | null;
        };
        PersonaTurn: {
            /** Format: uuid */
            id: string;
            /** Format: date-time */
            createdAt: string;
        } & ({
            /** @constant */
            type: "user";
            content: string;
        } | {
            /** @constant */
            type: "assistant_text";
            content: string;
        } | {
            /** @constant */
            type: "tool_call";
            toolUseId: components["schemas"]["ToolUseId"];
            toolName: string;
            input: unknown;
            label: components["schemas"]["CallLabel"];
        } | {
            /** @constant */
            type: "tool_result";
            toolUseId: components["schemas"]["ToolUseId"];
            output: string;
            isError?: boolean;
            report: components["schemas"]["CallReport"];
        });
        PersonaView: {
            id: string;
            name: string;
            systemPrompt: string;
            testInputIds: string[];
            /**
             * Format: uuid
             * @description The conversation in which the caller edits the persona, if there is one.
             */
            agentChatSessionId?: string | null;
        };
        TestInputList: {
            testInputs: components["schemas"]["TestInputView"][];
        };
        TestInputView: {
            id: string;
            content: string;
        };
        SpaceList: {
            spaces: components["schemas"]["SpaceView"][];
        };
        SpaceView: {
            id: string;
            name: string;
            /** @description Absent: the general default agent. */
            default_agent?: string | null;
            /**
             * Format: uuid
             * @description The session of the space's companion, once there is one.
             */
            companion?: string | null;
            /** @description Only models of this machine may be used in its conversations. */
            local_only: boolean;
            /** @description The highest tier of agents in the space, even if their own is higher. */
            tier: components["schemas"]["Tier"];
            /** Format: date-time */
            created_at?: string | null;
            /** @description Why its `space.json` cannot be read; the contents of the space are not affected. */
            error?: string | null;
        };
        EntityView: {
            id: string;
            kind: components["schemas"]["EntityKind"];
            space: string;
            title: string;
            status?: string | null;
            tags: string[];
            /** Format: date-time */
            created_at?: string | null;
            /** Format: date-time */
            updated_at: string;
            origin: components["schemas"]["Origin"];
            /** @description All other keys of its front matter with a value of one line. */
            fields: {
                [key: string]: string;
            };
            /** @description The path by which searches and agents name its file. */
            path: string;
            /** @description The version in its ETag. */
            version: string;
            body?: string | null;
        };
        EntityList: {
            /** @description Last changed first, without their bodies. */
            entities: components["schemas"]["EntityView"][];
            /** @description Give it as `before` for the rest. */
            before?: string | null;
        };
        AttachedConversations: {
            sessions: components["schemas"]["SessionView"][];
        };
        CompanionView: {
            /** Format: uuid */
            conversation_id: string;
            space: string;
            /** @description The agent that answers now. */
            agent: string;
            agent_name: string;
        };
        Messages: {
            /** @description Oldest first. */
            messages: components["schemas"]["ConversationMessage"][];
            /**
             * Format: uuid
             * @description Give it as `before` for the messages before these; absent at the beginning.
             */
            before?: string | null;
        };
        ConversationMessage: {
            id: string;
            role: components["schemas"]["MessageRole"];
            /** @description The agent that answered; `person` for the person's own messages. */
            author: string;
            /**
             * Format: uuid
             * @description For an answer: the message that it answers.
             */
            question?: string | null;
            content: string;
            status: components["schemas"]["MessageStatus"];
            /** Format: date-time */
            created_at: string;
            /** @description The reason why there is no answer, if there is none. */
            error?: components["schemas"]["Fault"] | null;
            metadata: components["schemas"]["MessageMetadata"];
        };
        MessageMetadata: {
            tools: components["schemas"]["ToolTrace"][];
            draft_ids: string[];
            model: string | null;
            usage: components["schemas"]["Usage"] | null;
        };
        ToolTrace: {
            id: components["schemas"]["ToolUseId"];
            tool: string;
            args_summary: string;
            status: components["schemas"]["ToolState"];
        };
        /**
         * @description The state of a tool call.
         * @enum {string}
         */
        ToolState: "running" | "ok" | "failed";
        Posted: {
            /** Format: uuid */
            message_id: string;
        };
        /** @description The data of an event; the event's name is its kind. */
        CompanionEvent: components["schemas"]["ToolChip"] | {
            text: string;
        } | {
            /** Format: uuid */
            pending_change_id: string;
            summary: string;
        } | components["schemas"]["Question"] | {
            /** Format: uuid */
            assistant_message_id: string | null;
            usage: components["schemas"]["Usage"];
        } | {
            message: string;
            code: components["schemas"]["ErrorCode"];
            hint: string;
        };
        ToolChip: {
            id: components["schemas"]["ToolUseId"];
            tool: string;
            args_summary: string;
            status: components["schemas"]["ToolState"];
            label?: components["schemas"]["CallLabel"] | null;
            /** @description The result of the call. */
            report?: components["schemas"]["CallReport"] | null;
        };
        Question: {
            /** Format: uuid */
            pending_change_id: string;
            tool: string;
            summary: string;
            preview: components["schemas"]["Preview"];
            asks_for: components["schemas"]["AsksFor"];
            /** Format: date-time */
            expires_at: string;
        };
        ChannelList: {
            channels: components["schemas"]["ChannelView"][];
        };
        ChannelView: {
            id: string;
            space: string;
            name: string;
            purpose: string;
            coworkers: components["schemas"]["CoworkerView"][];
            /** Format: uint */
            threads: number;
            /** Format: date-time */
            created_at?: string | null;
        };
        CoworkerView: {
            agent: string;
            /** @description Answers messages that name no coworker: the marked one, or the one assigned first. */
            primary: boolean;
        };
        CoworkerList: {
            coworkers: components["schemas"]["CoworkerView"][];
        };
        ThreadList: {
            /** @description Newest first. */
            threads: components["schemas"]["ThreadView"][];
        };
        ThreadView: {
            id: string;
            channel: string;
            space: string;
            title: string;
            /** Format: date-time */
            created_at: string;
        };
        ThreadMessages: {
            /** @description Oldest first. */
            messages: components["schemas"]["ConversationMessage"][];
            /** Format: uuid */
            before?: string | null;
        };
        ThreadMessageSent: {
            user_message: components["schemas"]["ConversationMessage"];
            /** @description One for each coworker that answers, still empty. */
            assistant_messages: components["schemas"]["ConversationMessage"][];
        };
        ThreadContext: {
            /** @description The agents that would answer the message. */
            agents: string[];
            /** @description Best first. */
            pieces: components["schemas"]["ThreadContextPiece"][];
            /**
             * Format: uint
             * @description The approximate number of tokens for retrieved text: the smallest among the models that
             *     would answer.
             */
            budget: number;
            /** @description Why less was found than exists. */
            degraded?: string | null;
        };
        ThreadContextPiece: {
            source: string;
            source_id: string;
            chunk_id: string;
            title: string;
            /**
             * Format: uuid
             * @description The conversation and the message that the piece is from; absent for files.
             */
            session_id?: string | null;
            /** Format: uuid */
            turn?: string | null;
            scope: components["schemas"]["Scope"];
            origin: components["schemas"]["Origin"];
            /** Format: float */
            score: number;
            match_type: components["schemas"]["MatchType"];
            /** Format: uint32 */
            start_line: number;
            /** Format: uint32 */
            end_line: number;
            /** @description Without the file's front matter. */
            text: string;
            /**
             * Format: uint
             * @description The approximate number of tokens it uses of the budget.
             */
            tokens: number;
            /** @description Whether it fits into the budget after the better ones. */
            fits: boolean;
        };
        ThreadAnswerers: {
            /** @description In the order in which they answer. */
            agents: string[];
        };
        /** @description The data of an event; the event's name is its kind. */
        ThreadEvent: {
            message_id: string;
            text: string;
            full_content: string;
        } | {
            message_id: string;
            content: string;
            status: components["schemas"]["MessageStatus"];
        } | {
            message_id: string;
            error: components["schemas"]["ThreadError"];
        } | components["schemas"]["ThreadConfirm"] | {
            error: components["schemas"]["ThreadError"];
        };
        ThreadError: {
            code: components["schemas"]["ErrorCode"];
            message: string;
            hint: string;
        };
        ThreadConfirm: {
            message_id: string;
            /** Format: uuid */
            pending_change_id: string;
            tool: string;
            summary: string;
            preview: components["schemas"]["Preview"];
            asks_for: components["schemas"]["AsksFor"];
            /** Format: date-time */
            expires_at: string;
        };
        MessageCancelled: {
            cancelled: boolean;
        };
        /** @description An object whose fields the maker's own documents describe. */
        MakersObject: {
            [key: string]: unknown;
        };
        EmbeddingList: {
            object: string;
            data: components["schemas"]["Embedding"][];
            model: string;
            usage: components["schemas"]["EmbeddingUsage"];
        };
        Embedding: {
            object: string;
            /** Format: uint */
            index: number;
            embedding: components["schemas"]["Vector"];
        };
        Vector: number[] | string;
        EmbeddingUsage: {
            /** Format: uint64 */
            prompt_tokens: number;
            /** Format: uint64 */
            total_tokens: number;
        };
        ModelList: {
            object: string;
            data: components["schemas"]["ListedModelView"][];
            first_id: string | null;
            last_id: string | null;
            has_more: boolean;
        };
        ListedModelView: {
            id: string;
            object: string;
            type: string;
            display_name: string;
            /** Format: int64 */
            created: number;
            created_at: string;
            owned_by: string;
            /** Format: uint32 */
            context_window?: number | null;
            /**
             * Format: uint32
             * @description Anthropic's name of the context window.
             */
            max_input_tokens?: number | null;
            /**
             * Format: uint32
             * @description Anthropic's name of the longest answer.
             */
            max_tokens?: number | null;
            capabilities: components["schemas"]["Capabilities"];
        };
        /** @description The known capabilities; unknown ones are absent. */
        Capabilities: {
            tools?: boolean | null;
            reasoning?: boolean | null;
            images?: boolean | null;
        };
        AccessRequestView: {
            /** @description The program's own name for itself; it is not verified. */
            name: string;
            /** @description The address that the browser goes to, which receives the access. */
            goes_to: string;
            /** @description Scopes: chat, read, write. */
            scopes: string[];
        };
        AccessGranted: {
            redirect: string;
        };
        /** @description A person's account, as far as it is known. */
        LinkedInView: {
            /** @description Whether the owner has configured a LinkedIn application. */
            configured: boolean;
            /** @description What the owner has to correct before anyone can connect. */
            trouble: string | null;
            login: components["schemas"]["LoginView"];
            /**
             * Format: date-time
             * @description When LinkedIn last accepted the account's token, since the server started.
             */
            last_validated_at: string | null;
            /** @description Why LinkedIn refused the last request; null after one that succeeded. */
            last_error: string | null;
            /** @description The redirect address to register with the application at LinkedIn. */
            redirect_uri: string;
        };
        LinkedInRevoked: {
            /** @description Whether LinkedIn confirmed that its tokens are revoked. */
            confirmed: boolean;
            /** @description Why it did not, and what to do. */
            detail: string | null;
        };
        /** @description RFC 9457, with the code and the hint of the error table. */
        Problem: {
            /** Format: uint16 */
            status: number;
            code: components["schemas"]["ErrorCode"];
            title: string;
            detail: string;
            hint: string;
            field?: string | null;
        };
        ChatRequest: {
            /**
             * Format: uuid
             * @default null
             */
            session_id: string | null;
            message?: string | null;
            action_id?: string | null;
            /** @default null */
            agent: string | null;
            confirm?: components["schemas"]["Confirm"] | null;
            dry_run?: boolean | null;
            /**
             * @description Without a `session_id`: begins a chat that is not listed, indexed or remembered, and that is
             *     deleted a day after its last use.
             * @default false
             */
            temporary: boolean;
        };
        Confirm: boolean | string[];
        StopRequest: {
            /**
             * Format: uuid
             * @default null
             */
            session_id: string | null;
            /**
             * Format: uuid
             * @default null
             */
            run_id: string | null;
        };
        SessionRequest: {
            /** Format: uuid */
            session_id: string;
        };
        HistoryQuery: {
            /** Format: uuid */
            session_id: string;
            /** Format: uint64 */
            before?: number | null;
            /** Format: uint */
            limit?: number | null;
        };
        PreferencesChange: {
            runtime_mode?: components["schemas"]["RuntimeMode"] | null;
            prompt?: string | null;
            fallback?: boolean | null;
            /**
             * @description Each flag is set on its own; `null` removes it.
             * @default {}
             */
            flags: {
                [key: string]: boolean | null;
            };
            actions_path?: string | null;
            /** @description An IANA name such as `Europe/Berlin`; empty for the server's. */
            timezone?: string | null;
        };
        RunAction: {
            /**
             * Format: uuid
             * @default null
             */
            session_id: string | null;
            confirm?: boolean | null;
            dry_run?: boolean | null;
            /** @description The text for `{{selection}}`. */
            selection?: string | null;
        };
        FilledWith: {
            /** @description The text for `{{selection}}`. */
            selection?: string | null;
        };
        ActionRunsQuery: {
            /**
             * Format: uuid
             * @description Only runs before this one.
             */
            before?: string | null;
            /** Format: uint */
            limit?: number | null;
        };
        /** @description Read in two parts, because errors in fields of a flattened struct would lose their paths. */
        NewAgent: {
            id: string;
            /** @default null */
            name: string | null;
            /**
             * @description Answers messages that name no agent; exactly one agent is the default.
             * @default false
             */
            default: boolean;
            /** @default null */
            enabled: boolean | null;
            /** @default null */
            tier: components["schemas"]["Tier"] | null;
            /**
             * @description `<provider>/<model>`, or `auto`.
             * @default null
             */
            model: string | null;
            /**
             * @description Tried in this order when `model` fails.
             * @default []
             */
            fallbacks: string[];
            /** @default null */
            tools: components["schemas"]["ToolFieldsInput"] | null;
            /**
             * Format: float
             * @default null
             */
            temperature: number | null;
            /**
             * Format: uint32
             * @default null
             */
            max_output_tokens: number | null;
            /**
             * @description A folder whose files are read instead of those in the agent's own folder.
             * @default null
             */
            workspace: string | null;
            /**
             * @description Other agents whose memory it may search.
             * @default []
             */
            memory_read: string[];
            /**
             * @description Context is searched for each message of its chats, as it always is in spaces.
             * @default null
             */
            memory_retrieval: boolean | null;
            /**
             * @description It uses only models of this machine.
             * @default null
             */
            local_only: boolean | null;
        };
        /** @description Names of tools, or `group:<name>`. Deny takes precedence. */
        ToolFieldsInput: {
            /**
             * @description None: every tool.
             * @default null
             */
            allow: string[] | null;
            /** @default [] */
            deny: string[];
            /** @description Commands that need no approval: each is the beginning of an argument list. */
            commands?: string[][];
        };
        /** @description An agent's own settings. Absent ones are taken from `agents.defaults`. */
        AgentFieldsInput: {
            /** @default null */
            name: string | null;
            /**
             * @description Answers messages that name no agent; exactly one agent is the default.
             * @default false
             */
            default: boolean;
            /** @default null */
            enabled: boolean | null;
            /** @default null */
            tier: components["schemas"]["Tier"] | null;
            /**
             * @description `<provider>/<model>`, or `auto`.
             * @default null
             */
            model: string | null;
            /**
             * @description Tried in this order when `model` fails.
             * @default []
             */
            fallbacks: string[];
            /** @default null */
            tools: components["schemas"]["ToolFieldsInput"] | null;
            /**
             * Format: float
             * @default null
             */
            temperature: number | null;
            /**
             * Format: uint32
             * @default null
             */
            max_output_tokens: number | null;
            /**
             * @description A folder whose files are read instead of those in the agent's own folder.
             * @default null
             */
            workspace: string | null;
            /**
             * @description Other agents whose memory it may search.
             * @default []
             */
            memory_read: string[];
            /**
             * @description Context is searched for each message of its chats, as it always is in spaces.
             * @default null
             */
            memory_retrieval: boolean | null;
            /**
             * @description It uses only models of this machine.
             * @default null
             */
            local_only: boolean | null;
        };
        AcceptFile: {
            /** @description The ETag of the version that was read. */
            seen: string;
        };
        ListQuery: {
            agent?: string | null;
            status?: components["schemas"]["SessionStatus"] | null;
            origin?: components["schemas"]["SessionOrigin"] | null;
            /** @description Text of the title or the newest messages, or of any message. */
            q?: string | null;
            /** Format: date-time */
            since?: string | null;
            /** Format: date-time */
            until?: string | null;
            /** @description Only pinned, or only unpinned, conversations. */
            pinned?: boolean | null;
            /** @description Only conversations with this tag. */
            tag?: string | null;
            /** Format: uuid */
            before?: string | null;
            /** Format: uint32 */
            limit?: number | null;
        };
        Patch: {
            title?: string | null;
            status?: components["schemas"]["SessionStatus"] | null;
            agents?: string[] | null;
            mode?: components["schemas"]["LaneOrder"] | null;
            /** @description Pinned to the top of the list, with its forks. */
            pinned?: boolean | null;
            /** @description Replaces the tags, also those of its forks. */
            tags?: string[] | null;
            /**
             * @description The page, task, ref or project that it is attached to; `null` detaches it.
             * @default null
             */
            attached: components["schemas"]["EntityRef"] | null;
        };
        GivenFeedback: {
            /** @description Absent or `null`: the earlier rating is withdrawn. */
            rating?: components["schemas"]["Rating"] | null;
            note?: string | null;
        };
        Fork: {
            /** Format: uuid */
            turn_id: string;
            /**
             * @description Leave out the turn itself, to replace it with another message.
             * @default false
             */
            before: boolean;
        };
        TurnsQuery: {
            /** Format: uint64 */
            before?: number | null;
            /** Format: uint */
            limit?: number | null;
        };
        ExportQuery: {
            format?: components["schemas"]["ExportFormat"];
        };
        /** @enum {string} */
        ExportFormat: "jsonl" | "markdown";
        EventsQuery: {
            /** Format: uint64 */
            after?: number | null;
        };
        UndoQuery: {
            /** @default false */
            dry_run: boolean;
        };
        /** @description A person's decision with its options. */
        DraftDecision: {
            reason?: string | null;
            scope?: components["schemas"]["ScopeInput"] | null;
            /** @description The `plan_hash` that was shown; required for a draft that is `stale`. */
            plan_hash?: string | null;
        };
        /**
         * @description `once`: This call alone. `run`: The same tool may reach the same host for the rest of the run.
         * @enum {string}
         */
        ScopeInput: "once" | "run";
        /** @description A new job: its name and fields. */
        JobBody: {
            id: string;
            /** @description Five or six fields, such as `0 8 * * MON-FRI`. */
            cron?: string | null;
            /** @description An interval such as `2h` or `2w`; with `at` as the first time. */
            every?: string | null;
            /** @description A time such as `2030-12-01T09:00`. */
            at?: string | null;
            /** @description An IANA name; the person's zone if absent. */
            timezone?: string | null;
            /** @description Runs are delayed by up to this long. */
            jitter?: string | null;
            /** @description `skip`, `once` or `all`: what happens with times that passed while no server ran. */
            misfire?: string | null;
            /** @description A run that is late by less than this counts as on time. */
            grace?: string | null;
            /** @description `skip`, `queue` or `replace`: what happens at a time while the job still runs. */
            overlap?: string | null;
            agent?: string | null;
            model?: string | null;
            /** @description `fresh` or `kept`. */
            session?: string | null;
            /** @description `session`, `notification`, `{webhook}`, `{email}`, `{connector}` or several of them. */
            deliver?: unknown;
            /** @description A check before each run: a command (text or list), or `{url, status, contains}`. */
            when?: unknown;
            /** @description A command (text or list) instead of a prompt. */
            run?: unknown;
            /** Format: double */
            max_cost?: number | null;
            enabled?: boolean | null;
            expires?: string | null;
            prompt?: string | null;
        };
        /** @description The front matter of a job, and its prompt. `null` removes a field. */
        JobChangeBody: {
            /** @description Five or six fields, such as `0 8 * * MON-FRI`. */
            cron?: string | null;
            /** @description An interval such as `2h` or `2w`; with `at` as the first time. */
            every?: string | null;
            /** @description A time such as `2030-12-01T09:00`. */
            at?: string | null;
            /** @description An IANA name; the person's zone if absent. */
            timezone?: string | null;
            /** @description Runs are delayed by up to this long. */
            jitter?: string | null;
            /** @description `skip`, `once` or `all`: what happens with times that passed while no server ran. */
            misfire?: string | null;
            /** @description A run that is late by less than this counts as on time. */
            grace?: string | null;
            /** @description `skip`, `queue` or `replace`: what happens at a time while the job still runs. */
            overlap?: string | null;
            agent?: string | null;
            model?: string | null;
            /** @description `fresh` or `kept`. */
            session?: string | null;
            /** @description `session`, `notification`, `{webhook}`, `{email}`, `{connector}` or several of them. */
            deliver?: unknown;
            /** @description A check before each run: a command (text or list), or `{url, status, contains}`. */
            when?: unknown;
            /** @description A command (text or list) instead of a prompt. */
            run?: unknown;
            /** Format: double */
            max_cost?: number | null;
            enabled?: boolean | null;
            expires?: string | null;
            prompt?: string | null;
        };
        /** @description The state of the job that the person looked at. */
        JobShown: {
            /** @description The `hash` of the job as it was shown. */
            hash: string;
        };
        JobRunsQuery: {
            /**
             * Format: date-time
             * @description Only times before this one.
             */
            before?: string | null;
            /** Format: uint32 */
            limit?: number | null;
        };
        /** @description Files, or a ZIP archive of them. Each folder with a `SKILL.md` is a skill. */
        SkillImport: {
            /** @description The name of a skill at the top of the package that does not name itself. */
            name?: string | null;
            files?: components["schemas"]["BroughtFile"][] | null;
            /** @description A ZIP archive in base64. */
            zip?: string | null;
            /** @description The https address of a repository; its newest commit is used. */
            git?: string | null;
        };
        BroughtFile: {
            path: string;
            /** @description The content in base64. */
            content: string;
        };
        WhoseSkill: {
            /** @description The agent in whose folder the skill is; without it, the vault. */
            agent?: string | null;
        };
        /** @description The whole `SKILL.md`. */
        SkillText: {
            text: string;
        };
        /** @description The skill as the person saw it. */
        SeenSkill: {
            /** @description The `hash` of the skill as it was shown. */
            hash: string;
        };
        FileOfSkill: {
            /** @description A path as the skill's `files` list it. */
            path: string;
            agent?: string | null;
        };
        /** @description `{"mcpServers": {…}}` as other clients have it, or servers by name. */
        NewMcpServers: {
            [key: string]: unknown;
        };
        /** @description The tools as the person saw them. */
        SeenTools: {
            /** @description The `hash` of each tool as it was shown. */
            tools: {
                [key: string]: string;
            };
        };
        McpLogin: {
            /** @description The address that the browser returns to; it must be on this machine. */
            redirect_uri: string;
        };
        /** @description What the browser brought back. */
        McpCallback: {
            state: string;
            code?: string | null;
            iss?: string | null;
            error?: string | null;
        };
        /** @description Absent settings stay as they are. */
        McpToolSettings: {
            enabled?: boolean | null;
            effect?: components["schemas"]["ToolEffect"] | null;
        };
        WhichAgent: {
            /** @description The agent whose tools are offered; without it, the default agent. */
            agent?: string | null;
        };
        /** @description A message of JSON-RPC 2.0. */
        JsonRpc: {
            jsonrpc: string;
            id?: unknown;
            method: string;
            params?: {
                [key: string]: unknown;
            } | null;
        };
        /** @description A plugin as exactly one of `files`, `zip` and `git`. */
        NewPlugin: {
            files?: components["schemas"]["PluginFile"][] | null;
            /** @description A ZIP archive, in base64. */
            zip?: string | null;
            /** @description The https address of a repository; its newest commit is used. */
            git?: string | null;
        };
        PluginFile: {
            path: string;
            /** @description The content in base64. */
            content: string;
        };
        /** @description The plugin as the person saw it. */
        SeenPlugin: {
            /** @description The `hash` of the plugin as it was shown. */
            hash: string;
        };
        /** @description The settings, by the plugin's own schema. */
        PluginConfig: {
            [key: string]: unknown;
        };
        PairCode: {
            code: string;
        };
        TestAccount: {
            network: string;
            token: string;
            api_base?: string | null;
        };
        WrittenByVisitor: {
            /** @description An id that the page generates; a repeated message has the same id. */
            id: string;
            text: string;
        };
        MailAsked: {
            /**
             * Format: int64
             * @description The number of the last message that the page has.
             * @default 0
             */
            after: number;
        };
        PutAccount: {
            /**
             * @description The new content of `connectors.<network>.accounts.<account>`: `allow`, `groups`, `apiBase`,
             *     …
             * @default {}
             */
            settings: {
                [key: string]: unknown;
            };
            /** @description Stored encrypted as `<network>-<account>`, and named as `token` in the settings. */
            token?: string | null;
        };
        BindPeer: {
            /** @description The agent that answers from now on; `null` leaves it to the other bindings. */
            agent?: string | null;
        };
        ApprovePeer: {
            /**
             * @description The person whose agents the peer talks to; the owner if it is absent.
             * @default null
             */
            member: string | null;
        };
        PendingChangesQuery: {
            state?: components["schemas"]["DraftState"] | null;
            /** Format: uuid */
            session?: string | null;
            /** Format: uuid */
            before?: string | null;
            /** Format: uint32 */
            limit?: number | null;
        };
        AuditQuery: {
            /** @description The person whose entries are listed; without it, the caller. */
            person?: string | null;
            /** Format: uint64 */
            before?: number | null;
            /** Format: uint32 */
            limit?: number | null;
        };
        VerifyQuery: {
            /** @description The person whose log is verified; without it, all people. */
            person?: string | null;
        };
        NewConfig: {
            /** @description The whole file. A shortened key in it stands for the key in the current file. */
            text: string;
        };
        ImportQuery: {
            /** @description The program that made the export. */
            from: components["schemas"]["ImportSource"];
            /** @description The form of the body. */
            form?: components["schemas"]["Form"];
            /**
             * @description Read everything, write nothing and report what would be imported.
             * @default false
             */
            dry_run: boolean;
            /**
             * @description Leave out broken files; without it the first broken file stops the import.
             * @default false
             */
            skip_broken: boolean;
            /**
             * @description Report progress, one JSON object per line; the last line holds the report.
             * @default false
             */
            progress: boolean;
        };
        /**
         * @description The program that data is imported from.
         * @enum {string}
         */
        ImportSource: "openclaw" | "nanobot" | "open-webui" | "chatgpt" | "claude";
        /**
         * @description `export`: The file that the other program exported, or an archive of its folder. `items`: The items that were read from it, one per line.
         * @enum {string}
         */
        Form: "export" | "items";
        PutProvider: {
            /**
             * @description The new content of `providers.<name>` in onyx.json: `kind`, `baseUrl`, `models`, … A
             *     shortened key in it stands for the current one.
             * @default {}
             */
            settings: {
                [key: string]: unknown;
            };
            /** @description Stored encrypted under the provider's name, and named as `apiKey` in the settings. */
            api_key?: string | null;
        };
        BeginLogin: {
            /** @description A way to sign in that the provider offers; without it, the provider's first one. */
            way?: components["schemas"]["SignInWay"] | null;
        };
        /**
         * @description `code`: A code that is entered on the provider's page, on any machine. `browser`: A browser that returns to the machine that runs Onyx.
         * @enum {string}
         */
        SignInWay: "code" | "browser";
        FinishLogin: {
            /** @description The whole address of the page that the browser ended at. */
            address: string;
        };
        /** @description `agents.defaults.model` of onyx.json. */
        DefaultModelInput: {
            /** @description `<provider>/<model>`; null uses the first provider that works. */
            primary?: string | null;
            /**
             * @description Tried in this order when the primary model cannot answer.
             * @default []
             */
            fallbacks: string[];
        };
        /** @description Absent limits stay as they are. */
        NewLimits: {
            /** Format: double */
            limit_per_run?: number | null;
            /** Format: double */
            limit_per_person?: number | null;
            /** Format: double */
            limit_per_agent?: number | null;
        };
        UsageQuery: {
            /**
             * Format: date
             * @description The first day, UTC; by default 30 days before the last.
             */
            since?: string | null;
            /**
             * Format: date
             * @description The last day, UTC; by default today.
             */
            until?: string | null;
            person?: string | null;
            agent?: string | null;
            model?: string | null;
        };
        LogsQuery: {
            /** @description This level and more severe ones. */
            level?: components["schemas"]["LogLevel"] | null;
            /** @description A part of the message, the target or a field. */
            q?: string | null;
            /**
             * Format: uint64
             * @description Only lines after this one.
             */
            after?: number | null;
            /**
             * Format: uint
             * @description The largest number of lines; 200 if it is absent.
             */
            limit?: number | null;
        };
        NewLevel: {
            /** @description This level and more severe ones. */
            level: components["schemas"]["LogLevel"];
        };
        SourcesQuery: {
            /** @description Only sources of this space, channel, thread or agent. */
            scope?: string | null;
        };
        /** @description What to attach, and to what. */
        SourceRequest: {
            scope: components["schemas"]["ScopeRequest"];
            title?: string | null;
        } & ({
            /** @constant */
            kind: "file";
            path?: string | null;
            name?: string | null;
            media_type?: string | null;
            data?: string | null;
        } | {
            /** @constant */
            kind: "folder";
            path: string;
        } | {
            /** @constant */
            kind: "url";
            url: string;
        } | {
            /** @constant */
            kind: "text";
            text: string;
        });
        ScopeRequest: {
            type: components["schemas"]["ScopeKind"];
            id: string;
            /** @description The space of a channel or thread that no space lists. */
            space?: string | null;
        };
        /** @enum {string} */
        ScopeKind: "space" | "channel" | "thread" | "agent";
        MemoryQuery: {
            q: string;
            /** @description Only what this agent remembers. */
            agent?: string | null;
            /** @description `person`, `shared`, `agent:<id>`, `space:<id>`, `channel:<id>` or `thread:<id>`. */
            scope?: string | null;
            /** Format: uint32 */
            limit?: number | null;
        };
        NewMemory: {
            /** @description None: the default agent. */
            agent?: string | null;
            text: string;
            target: components["schemas"]["Target"];
            /** @description The heading in MEMORY.md; required there. */
            heading?: string | null;
        };
        /** @enum {string} */
        Target: "daily" | "memory";
        FilesQuery: {
            /** @description Some of the kinds of sources, separated by commas; by default memory and daily. */
            types?: string | null;
            /** @description Only paths after this one. */
            after?: string | null;
            /** Format: uint32 */
            limit?: number | null;
        };
        ReadQuery: {
            /**
             * Format: uint64
             * @description Returns the content before this change instead of the current content.
             */
            version?: number | null;
            /**
             * @description The path is as an agent wrote it: one that names no folder of the person's is in the vault.
             * @default false
             */
            cited: boolean;
            /** @description With `version`: only this part of the content. */
            part?: components["schemas"]["FilePart"] | null;
        };
        /**
         * @description `body`: The text without its front matter.
         * @enum {string}
         */
        FilePart: "body";
        FileAct: {
            /**
             * Format: uint64
             * @description For `restore`: the change whose previous content is restored.
             */
            version?: number | null;
            /** @description For `accept`: the ETag of the file that the person read. */
            seen?: string | null;
        };
        GraphQuery: {
            /** @description A name; the answer holds its facts. */
            entity?: string | null;
            /** @description Text that the listed names contain; with `entity`, text that its facts contain. */
            q?: string | null;
            /** Format: uint32 */
            limit?: number | null;
        };
        Merge: {
            /** @description The name of the entity from now on. */
            into: string;
            /** @description The names that are merged into it. */
            names: string[];
        };
        Split: {
            name: string;
            /**
             * @description The entity that some texts mean by the name. Absent: the name is split from the entity that
             *     it was merged into.
             */
            apart?: components["schemas"]["Apart"] | null;
        };
        /** @description The texts in which the name means another entity. */
        Apart: {
            /** @description The entity's name in these texts. */
            into: string;
            paths: string[];
        };
        Keep: {
            /** @description None: the default agent. */
            agent?: string | null;
        };
        KnowledgeQuery: {
            q: string;
            space?: string | null;
            /**
             * @description Some of page, task, ref, project, note, source, memory, daily, session, shared, separated by
             *     commas.
             */
            types?: string | null;
            /** Format: uint32 */
            limit?: number | null;
        };
        LinkQuery: {
            code: string;
        };
        Login: {
            person: string;
            password: string;
        };
        Refresh: {
            refresh_token: string;
        };
        BeginPairing: {
            /** @default  */
            name: string;
            /** @default browser */
            client: components["schemas"]["PairingFor"];
        };
        OwnPassword: {
            /** @description The current password, where there is one. */
            current?: string | null;
            password: string;
        };
        NewPerson: {
            id: string;
            name?: string | null;
        };
        NewPassword: {
            password: string;
        };
        TokenRequest: {
            name: string;
            /**
             * @description Absent: the caller. A token of several people is a household token.
             * @default []
             */
            people: string[];
            /** @description Absent: all rights for a person's own data. */
            scopes?: components["schemas"]["Grant"][] | null;
            /**
             * Format: uint64
             * @description In seconds; absent: valid until it is revoked.
             */
            expires_in?: number | null;
        };
        Approve: {
            code: string;
            /** @description The person who gets the device; absent: the caller. */
            person?: string | null;
        };
        Reject: {
            code: string;
        };
        SecretValue: {
            value: string;
        };
        PersonaChatRequest: {
            personaId: string;
            message: string;
        };
        OfPersona: {
            personaId: string;
        };
        PersonaHistoryQuery: {
            personaId: string;
            /** Format: uint64 */
            before?: number | null;
            /** Format: uint */
            limit?: number | null;
        };
        /** @description Absent fields stay as they are. */
        PutPersona: {
            name?: string | null;
            systemPrompt?: string | null;
        };
        TestInputContent: {
            content: string;
        };
        NewSpace: {
            name: string;
            /** @description Made from the name if it is absent. */
            id?: string | null;
            default_agent?: string | null;
            /** @description Only models of this machine may be used in its conversations. */
            local_only?: boolean | null;
        };
        SpacePatch: {
            name?: string | null;
            /**
             * @description `null`: no default agent of the space.
             * @default null
             */
            default_agent: string | null;
            /** @description Only models of this machine may be used in its conversations. */
            local_only?: boolean | null;
            tier?: components["schemas"]["Tier"] | null;
        };
        /** @description Exactly one of `url`, `text`, and `data` with its `name`. */
        CaptureRequest: {
            /** @description An address that is fetched now. */
            url?: string | null;
            /** @description Markdown or plain text. */
            text?: string | null;
            /** @description A file (PDF, HTML, CSV, text, code) as base64. */
            data?: string | null;
            name?: string | null;
            media_type?: string | null;
            /** @description The document's own title if it is absent. */
            title?: string | null;
            tags?: string[] | null;
        };
        EntitiesQuery: {
            /** @description Only entities after this one: the last id of the previous page. */
            before?: string | null;
            /** Format: uint */
            limit?: number | null;
            /** @description Only entities of this status. */
            status?: string | null;
            /**
             * @description Only entities that link to this one of the same space, given as `pages/<id>`: `[[its
             *     title]]` in their text.
             */
            links_to?: string | null;
        };
        NewEntity: {
            title: string;
            status?: string | null;
            tags?: string[] | null;
            /**
             * @description Other keys of the front matter.
             * @default {}
             */
            fields: {
                [key: string]: string | null;
            };
            body?: string | null;
        };
        /** @description Absent fields stay as they are. */
        EntityPatch: {
            title?: string | null;
            /** @description Empty: removes the status. */
            status?: string | null;
            tags?: string[] | null;
            /**
             * @description Other keys of the front matter; `null` or empty: it goes.
             * @default {}
             */
            fields: {
                [key: string]: string | null;
            };
            body?: string | null;
        };
        MessagesQuery: {
            /** @description Only messages before this one. */
            before?: string | null;
            /** Format: uint */
            limit?: number | null;
        };
        PostMessage: {
            content: string;
            /** @description The view that the person looks at. */
            view?: components["schemas"]["ViewRequest"] | null;
        };
        ViewRequest: {
            entityType: string;
            entityId: string;
        };
        StreamQuery: {
            /** @description The message to answer; the latest if it is absent. */
            messageId?: string | null;
        };
        ChannelsQuery: {
            /** @description Only channels of this space. */
            space?: string | null;
        };
        NewChannel: {
            space: string;
            name: string;
            /** @default  */
            purpose: string;
        };
        ChannelPatch: {
            name?: string | null;
            purpose?: string | null;
        };
        NewCoworker: {
            agent: string;
            /** @default false */
            primary: boolean;
        };
        PatchCoworker: {
            primary: boolean;
        };
        ThreadsQuery: {
            /** @description Only threads of this channel. */
            channel?: string | null;
        };
        NewThread: {
            channel: string;
            title: string;
        };
        PatchThread: {
            title: string;
        };
        ThreadMessagesQuery: {
            /** @description Only messages before this message of the person. */
            before?: string | null;
            /** Format: uint */
            limit?: number | null;
        };
        ThreadMessage: {
            content: string;
        };
        ContextQuery: {
            q: string;
        };
        AnswerersQuery: {
            /** @description The text of the message. */
            q: string;
        };
        UiChatRequest: {
            messages: components["schemas"]["UiMessage"][];
            systemPrompt?: string | null;
            /** @description Retrieved material for the answer; never part of the instructions. */
            ragContext?: components["schemas"]["RagPiece"][];
            /** @description `<provider>/<model>`, or an agent whose model is used. Absent: the default agent's model. */
            model?: string | null;
            /** Format: uint32 */
            maxTokens?: number | null;
            /** Format: float */
            temperature?: number | null;
            /** @description `useChat`'s name for the chat. With an agent, the id of a session continues that session. */
            id?: string | null;
            /**
             * @description The agent that answers, with its own instructions, tools and memory. The conversation is
             *     then kept in a session, and only the new part of `messages` is read.
             */
            agent?: string | null;
            /**
             * Format: uuid
             * @description The session to continue; its agent answers.
             */
            sessionId?: string | null;
            trigger?: components["schemas"]["UiTrigger"];
        };
        UiMessage: {
            role: components["schemas"]["UiRole"];
            /** @description The text; alternatively `parts`. */
            content?: string | null;
            parts?: unknown[] | null;
            /** @description In an agent's answer, `sessionId` names its session. */
            metadata?: unknown;
        };
        /** @enum {string} */
        UiRole: "user" | "assistant" | "system";
        RagPiece: {
            sourceId: string;
            chunkId: string;
            text: string;
            /** Format: float */
            score: number;
            sourceName: string;
            matchType: components["schemas"]["RagMatch"];
            scopeType: components["schemas"]["RagScope"];
            scopeId?: string | null;
        };
        /** @enum {string} */
        RagMatch: "fts" | "vec" | "hybrid";
        /** @enum {string} */
        RagScope: "workspace" | "channel" | "thread" | "coworker";
        /** @enum {string} */
        UiTrigger: "submit-message" | "regenerate-message";
        /** @description A request's body: the part that is read first to find the agent or model, and the rest. */
        ChatRequestBody: {
            /**
             * @description `onyx:<agent>`, an agent's id or `<provider>/<model>`; the default agent without it.
             * @default null
             */
            model: string | null;
            /** @default null */
            stream: boolean | null;
            stream_options?: components["schemas"]["StreamOptions"] | null;
            /**
             * Format: uuid
             * @description Continues this conversation.
             * @default null
             */
            "x-onyx-session-id": string | null;
            /** @default null */
            "x-onyx-agent-id": string | null;
            /** @default null */
            "x-onyx-include-memory": boolean | null;
            messages: components["schemas"]["ChatMessage"][];
            tools?: components["schemas"]["ChatTool"][] | null;
            tool_choice?: components["schemas"]["ChatChoice"] | null;
            parallel_tool_calls?: boolean | null;
            response_format?: components["schemas"]["ChatFormat"] | null;
            /** Format: float */
            temperature?: number | null;
            /** Format: uint32 */
            max_tokens?: number | null;
            /** Format: uint32 */
            max_completion_tokens?: number | null;
            /** Format: float */
            top_p?: number | null;
            /** Format: uint32 */
            top_k?: number | null;
            /** Format: float */
            min_p?: number | null;
            /** Format: int64 */
            seed?: number | null;
            /** Format: float */
            frequency_penalty?: number | null;
            /** Format: float */
            presence_penalty?: number | null;
            logit_bias?: {
                [key: string]: unknown;
            } | null;
            stop?: components["schemas"]["StopWords"] | null;
            reasoning_effort?: string | null;
            verbosity?: string | null;
            prompt_cache_key?: string | null;
            /** @description The form of tools before there were tools. */
            functions?: components["schemas"]["ChatFunction"][] | null;
            function_call?: components["schemas"]["ChatFunctionChoice"] | null;
        };
        StreamOptions: {
            /** @default null */
            include_usage: boolean | null;
        };
        ChatMessage: {
            role: components["schemas"]["ChatRole"];
            content?: components["schemas"]["ChatContent"] | null;
            tool_calls?: components["schemas"]["ChatCall"][] | null;
            tool_call_id?: string | null;
            function_call?: components["schemas"]["ChatCalledFunction"] | null;
        };
        /** @enum {string} */
        ChatRole: "system" | "developer" | "user" | "assistant" | "tool" | "function";
        ChatContent: string | components["schemas"]["ChatPart"][];
        ChatPart: {
            /** @constant */
            type: "text";
            text: string;
        } | {
            /** @constant */
            type: "refusal";
            refusal: string;
        } | {
            /** @constant */
            type: "image_url";
            image_url: components["schemas"]["ChatImageUrl"];
        } | {
            /** @constant */
            type: "file";
            file: components["schemas"]["ChatFileData"];
        };
        ChatImageUrl: {
            url: string;
        };
        ChatFileData: {
            file_data?: string | null;
            filename?: string | null;
        };
        ChatCall: {
            id: string;
            function?: components["schemas"]["ChatCalledFunction"] | null;
            custom?: components["schemas"]["ChatCalledText"] | null;
        };
        ChatCalledFunction: {
            name: string;
            /** @default  */
            arguments: string;
        };
        ChatCalledText: {
            name: string;
            input: string;
        };
        ChatTool: {
            /** @constant */
            type: "function";
            function: components["schemas"]["ChatFunction"];
        } | {
            /** @constant */
            type: "custom";
            custom: components["schemas"]["ChatCustomTool"];
        };
        ChatFunction: {
            name: string;
            /** @default  */
            description: string;
            parameters?: unknown;
        };
        /**
         * @description A tool that takes a text. A grammar for it is left out, because models of other formats cannot
         *     be constrained by one.
         */
        ChatCustomTool: {
            name: string;
            /** @default  */
            description: string;
        };
        ChatChoice: components["schemas"]["Mode"] | components["schemas"]["ChatNamedTool"];
        /**
         * @description The words of both OpenAI formats.
         * @enum {string}
         */
        Mode: "none" | "auto" | "required";
        ChatNamedTool: {
            /** @constant */
            type: "function";
            function: components["schemas"]["ChatFunctionName"];
        } | {
            /** @constant */
            type: "custom";
            custom: components["schemas"]["ChatFunctionName"];
        } | {
            /** @constant */
            type: "allowed_tools";
            allowed_tools: components["schemas"]["ChatAllowed"];
        };
        ChatFunctionName: {
            name: string;
        };
        /** @description Some of the tools only. */
        ChatAllowed: {
            mode: components["schemas"]["Mode"];
            tools: components["schemas"]["ChatAllowedTool"][];
        };
        ChatAllowedTool: {
            function: components["schemas"]["ChatFunctionName"];
        };
        ChatFormat: {
            /** @constant */
            type: "text";
        } | {
            /** @constant */
            type: "json_object";
        } | {
            /** @constant */
            type: "json_schema";
            json_schema: components["schemas"]["ChatSchema"];
        };
        ChatSchema: {
            name: string;
            /** @default null */
            schema: unknown;
        };
        /** @description One stop word or several. */
        StopWords: string | string[];
        ChatFunctionChoice: components["schemas"]["Mode"] | components["schemas"]["ChatFunctionName"];
        /** @description A request's body: the part that is read first to find the agent or model, and the rest. */
        ResponsesRequestBody: {
            /**
             * @description `onyx:<agent>`, an agent's id or `<provider>/<model>`; the default agent without it.
             * @default null
             */
            model: string | null;
            /** @default null */
            stream: boolean | null;
            stream_options?: components["schemas"]["StreamOptions"] | null;
            /**
             * Format: uuid
             * @description Continues this conversation.
             * @default null
             */
            "x-onyx-session-id": string | null;
            /** @default null */
            "x-onyx-agent-id": string | null;
            /** @default null */
            "x-onyx-include-memory": boolean | null;
            input: components["schemas"]["ResponsesInput"];
            instructions?: string | null;
            tools?: components["schemas"]["ResponsesTool"][] | null;
            tool_choice?: components["schemas"]["ResponsesChoice"] | null;
            parallel_tool_calls?: boolean | null;
            text?: components["schemas"]["ResponsesTextSettings"] | null;
            reasoning?: components["schemas"]["ResponsesReasoning"] | null;
            /** Format: float */
            temperature?: number | null;
            /** Format: float */
            top_p?: number | null;
            /** Format: uint32 */
            max_output_tokens?: number | null;
            previous_response_id?: string | null;
            prompt_cache_key?: string | null;
            /** @description A conversation of `/v1/conversations`, by its id or as an object with the id. */
            conversation?: unknown;
        };
        ResponsesInput: string | components["schemas"]["ResponsesItem"][];
        ResponsesItem: components["schemas"]["ResponsesTypedItem"] | {
            role: components["schemas"]["ResponsesRole"];
            content: components["schemas"]["ResponsesContent"];
        };
        ResponsesTypedItem: {
            /** @constant */
            type: "message";
            role: components["schemas"]["ResponsesRole"];
            content: components["schemas"]["ResponsesContent"];
        } | {
            /** @constant */
            type: "function_call";
            call_id: string;
            name: string;
            namespace?: string | null;
            arguments: string;
        } | {
            /** @constant */
            type: "function_call_output";
            call_id: string;
            output: components["schemas"]["ResponsesContent"];
        } | {
            /** @constant */
            type: "custom_tool_call";
            call_id: string;
            name: string;
            namespace?: string | null;
            input: string;
        } | {
            /** @constant */
            type: "custom_tool_call_output";
            call_id: string;
            output: components["schemas"]["ResponsesContent"];
        } | {
            /** @constant */
            type: "reasoning";
        } | {
            /** @constant */
            type: "web_search_call";
        } | {
            /** @constant */
            type: "file_search_call";
        } | {
            /** @constant */
            type: "code_interpreter_call";
        } | {
            /** @constant */
            type: "image_generation_call";
        } | {
            /** @constant */
            type: "mcp_call";
        } | {
            /** @constant */
            type: "mcp_list_tools";
        } | {
            /** @constant */
            type: "compaction";
        };
        /** @enum {string} */
        ResponsesRole: "system" | "developer" | "user" | "assistant";
        ResponsesContent: string | components["schemas"]["ResponsesPart"][];
        ResponsesPart: {
            /** @constant */
            type: "input_text";
            text: string;
        } | {
            /** @constant */
            type: "output_text";
            text: string;
        } | {
            /** @constant */
            type: "refusal";
            refusal: string;
        } | {
            /** @constant */
            type: "input_image";
            image_url?: string | null;
        } | {
            /** @constant */
            type: "input_file";
            filename?: string | null;
            file_data?: string | null;
            file_url?: string | null;
        };
        ResponsesTool: {
            type: string;
            name?: string | null;
            description?: string | null;
            parameters?: unknown;
            /** @description The tools of a namespace. */
            tools?: components["schemas"]["ResponsesTool"][] | null;
        };
        ResponsesChoice: components["schemas"]["Mode"] | components["schemas"]["ResponsesNamedTool"];
        ResponsesNamedTool: {
            /** @constant */
            type: "function";
            name: string;
        } | {
            /** @constant */
            type: "custom";
            name: string;
        } | {
            /** @constant */
            type: "allowed_tools";
            mode: components["schemas"]["Mode"];
            tools: components["schemas"]["ResponsesAllowedTool"][];
        };
        ResponsesAllowedTool: {
            name?: string | null;
        };
        ResponsesTextSettings: {
            format?: components["schemas"]["ResponsesFormat"] | null;
            verbosity?: string | null;
        };
        ResponsesFormat: {
            /** @constant */
            type: "text";
        } | {
            /** @constant */
            type: "json_object";
        } | {
            /** @constant */
            type: "json_schema";
            name: string;
            schema: unknown;
        };
        ResponsesReasoning: {
            effort?: string | null;
        };
        /** @description A request's body: the part that is read first to find the agent or model, and the rest. */
        MessagesRequestBody: {
            /**
             * @description `onyx:<agent>`, an agent's id or `<provider>/<model>`; the default agent without it.
             * @default null
             */
            model: string | null;
            /** @default null */
            stream: boolean | null;
            stream_options?: components["schemas"]["StreamOptions"] | null;
            /**
             * Format: uuid
             * @description Continues this conversation.
             * @default null
             */
            "x-onyx-session-id": string | null;
            /** @default null */
            "x-onyx-agent-id": string | null;
            /** @default null */
            "x-onyx-include-memory": boolean | null;
            messages: components["schemas"]["MessagesMessage"][];
            /** Format: uint32 */
            max_tokens: number;
            system?: components["schemas"]["MessagesText"] | null;
            tools?: components["schemas"]["MessagesTool"][] | null;
            tool_choice?: components["schemas"]["MessagesChoice"] | null;
            /** Format: float */
            temperature?: number | null;
            /** Format: float */
            top_p?: number | null;
            /** Format: uint32 */
            top_k?: number | null;
            stop_sequences?: string[] | null;
            thinking?: components["schemas"]["MessagesThinking"] | null;
            output_config?: components["schemas"]["MessagesOutputConfig"] | null;
            /** @description The older name of `output_config`. */
            output_format?: components["schemas"]["MessagesFormat"] | null;
        };
        MessagesMessage: {
            role: components["schemas"]["MessagesRole"];
            content: components["schemas"]["MessagesContent"];
        };
        /**
         * @description `system`: An instruction that was added during the conversation.
         * @enum {string}
         */
        MessagesRole: "user" | "assistant" | "system";
        MessagesContent: string | components["schemas"]["MessagesBlock"][];
        MessagesBlock: {
            /** @constant */
            type: "text";
            text: string;
        } | {
            /** @constant */
            type: "image";
            source: components["schemas"]["MessagesSource"];
        } | {
            /** @constant */
            type: "document";
            source: components["schemas"]["MessagesSource"];
            title?: string | null;
        } | {
            /** @constant */
            type: "search_result";
            title?: string | null;
            content: components["schemas"]["MessagesTextPart"][];
        } | {
            /** @constant */
            type: "tool_use";
            id: string;
            name: string;
            input: unknown;
        } | {
            /** @constant */
            type: "tool_result";
            tool_use_id: string;
            content?: components["schemas"]["MessagesResultContent"] | null;
            /** @default false */
            is_error: boolean;
        } | {
            /** @constant */
            type: "thinking";
        } | {
            /** @constant */
            type: "redacted_thinking";
        } | {
            /** @constant */
            type: "compaction";
            content?: string | null;
        } | {
            /** @constant */
            type: "server_tool_use";
        } | {
            /** @constant */
            type: "mcp_tool_use";
        } | {
            /** @constant */
            type: "mcp_tool_result";
        } | {
            /** @constant */
            type: "web_search_tool_result";
        } | {
            /** @constant */
            type: "web_fetch_tool_result";
        } | {
            /** @constant */
            type: "code_execution_tool_result";
        } | {
            /** @constant */
            type: "bash_code_execution_tool_result";
        } | {
            /** @constant */
            type: "text_editor_code_execution_tool_result";
        } | {
            /** @constant */
            type: "tool_search_tool_result";
        } | {
            /** @constant */
            type: "tool_reference";
        };
        MessagesSource: {
            /** @constant */
            type: "base64";
            media_type: string;
            data: string;
        } | {
            /** @constant */
            type: "url";
            url: string;
        } | {
            /** @constant */
            type: "text";
            data: string;
        } | {
            /** @constant */
            type: "content";
            content: components["schemas"]["MessagesText"];
        };
        MessagesText: string | components["schemas"]["MessagesTextBlock"][];
        MessagesTextBlock: {
            text: string;
        };
        MessagesTextPart: {
            text: string;
        };
        MessagesResultContent: string | components["schemas"]["MessagesResultBlock"][];
        /**
         * @description The blocks of a tool's result, for the document only: client generators cannot read a choice
         *     that contains itself.
         */
        MessagesResultBlock: {
            /** @constant */
            type: "text";
            text: string;
        } | {
            /** @constant */
            type: "image";
            source: components["schemas"]["MessagesSource"];
        } | {
            /** @constant */
            type: "document";
            source: components["schemas"]["MessagesSource"];
            title?: string | null;
        };
        MessagesTool: {
            type?: string | null;
            name: string;
            /** @default  */
            description: string;
            input_schema?: unknown;
        };
        MessagesChoice: {
            /** @constant */
            type: "auto";
            disable_parallel_tool_use?: boolean | null;
        } | {
            /** @constant */
            type: "any";
            disable_parallel_tool_use?: boolean | null;
        } | {
            /** @constant */
            type: "tool";
            name: string;
            disable_parallel_tool_use?: boolean | null;
        } | {
            /** @constant */
            type: "none";
        };
        MessagesThinking: {
            /** @constant */
            type: "enabled";
            /** Format: uint32 */
            budget_tokens: number;
        } | {
            /** @constant */
            type: "adaptive";
        } | {
            /** @constant */
            type: "disabled";
        };
        MessagesOutputConfig: {
            format?: components["schemas"]["MessagesFormat"] | null;
            effort?: string | null;
        };
        MessagesFormat: {
            /** @constant */
            type: "json_schema";
            schema: unknown;
        };
        EmbeddingRequest: {
            model: string;
            input: components["schemas"]["Input"];
            encoding_format?: components["schemas"]["Encoding"];
            /** Format: uint */
            dimensions?: number | null;
        };
        Input: string | string[] | number[] | number[][];
        /** @enum {string} */
        Encoding: "float" | "base64";
        /** @description The query that the program put into the address of the page. */
        AuthorizeQuery: {
            response_type: string;
            client_id: string;
            redirect_uri: string;
            code_challenge: string;
            code_challenge_method: string;
            state?: string | null;
            scope?: string | null;
            resource?: string | null;
        };
        /** @description What the browser brought back from LinkedIn. */
        LinkedInReturn: {
            state: string;
            code?: string | null;
            error?: string | null;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
/** Where each error comes from. */
export const ERROR_CLASSES = {
    "invalid_request": "request",
    "unauthenticated": "request",
    "sign_in_again": "request",
    "forbidden": "request",
    "owner_required": "request",
    "not_found": "request",
    "model_not_found": "provider",
    "session_busy": "conflict",
    "confirmation_required": "conflict",
    "draft_stale": "conflict",
    "draft_decided": "conflict",
    "draft_expired": "conflict",
    "version_conflict": "conflict",
    "too_large": "request",
    "invalid_action": "request",
    "rate_limited": "limit",
    "limit_steps": "limit",
    "limit_tool_calls": "limit",
    "limit_seconds": "limit",
    "limit_output": "limit",
    "limit_prompt": "limit",
    "limit_budget": "limit",
    "limit_loop": "limit",
    "provider_auth": "provider",
    "provider_rate_limited": "provider",
    "provider_overloaded": "provider",
    "provider_context_length": "provider",
    "provider_truncated": "provider",
    "provider_unavailable": "provider",
    "provider_paused": "provider",
    "provider_timeout": "provider",
    "provider_refused": "provider",
    "tool_denied": "tool",
    "tool_failed": "tool",
    "tool_timeout": "tool",
    "cancelled": "run",
    "interrupted": "run",
    "overloaded": "server",
    "storage_full": "server",
    "storage_failed": "server",
    "storage_unavailable": "server",
    "key_unavailable": "server",
    "internal": "server"
} as const;
