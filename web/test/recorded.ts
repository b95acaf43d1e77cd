// A run as the server told and logged it: recorded, not written by hand.

import type { RunEvent, Turn } from '@onyx/sdk';

export const EVENTS = [
  {
    "agents": [
      "main"
    ],
    "model": "mine/some-model",
    "type": "start"
  },
  {
    "agents": [
      "main"
    ],
    "model": "mine/some-model",
    "type": "start"
  },
  {
    "turnId": "01a1e5a1-5168-7000-a929-0b15928e71e9",
    "text": "Let me look.",
    "type": "delta"
  },
  {
    "turnId": "01a1e5a1-5168-7001-8535-861a099d3cc3",
    "toolUseId": "a",
    "tool": "read_file",
    "input": {
      "path": "plan.md"
    },
    "summary": "Read plan.md",
    "label": {
      "verb": {
        "plain": "Read",
        "wants": "Wants to read",
        "doing": "Reading",
        "did": "Read",
        "refused": "Was not allowed to read",
        "failed": "Could not read"
      },
      "subject": "plan.md",
      "target": {
        "kind": "file",
        "name": "plan.md"
      }
    },
    "type": "tool_call"
  },
  {
    "input": 1200,
    "output": 300,
    "cacheRead": 0,
    "cacheWrite": 0,
    "cost": 0,
    "type": "usage"
  },
  {
    "turnId": "01a1e5a1-5185-7000-9647-73b76f5258ee",
    "toolUseId": "a",
    "tool": "read_file",
    "ok": true,
    "output": "one\ntwo\n",
    "summary": "Read plan.md",
    "durationMs": 19,
    "report": {
      "state": "done",
      "effect": "read"
    },
    "type": "tool_result"
  },
  {
    "turnId": "01a1e5a1-5189-7000-90e4-caa0ee5b1a7d",
    "toolUseId": "b",
    "tool": "edit_file",
    "input": {
      "path": "plan.md",
      "old": "two",
      "new": "2\nthree"
    },
    "summary": "Edit plan.md +2 −1",
    "label": {
      "verb": {
        "plain": "Edit",
        "wants": "Wants to edit",
        "doing": "Editing",
        "did": "Edited",
        "refused": "Was not allowed to edit",
        "failed": "Could not edit"
      },
      "subject": "plan.md",
      "target": {
        "kind": "file",
        "name": "plan.md"
      },
      "change": {
        "unified": "--- plan.md\n+++ plan.md\n@@ -1 +1,2 @@\n-two\n\\ No newline at end of file\n+2\n+three\n\\ No newline at end of file\n",
        "added": 2,
        "removed": 1
      }
    },
    "type": "tool_call"
  },
  {
    "input": 2400,
    "output": 600,
    "cacheRead": 0,
    "cacheWrite": 0,
    "cost": 0,
    "type": "usage"
  },
  {
    "turnId": "01a1e5a1-5192-7000-b1f6-aa2fce60f75f",
    "toolUseId": "b",
    "tool": "edit_file",
    "ok": true,
    "output": "Drafted as 01a1e5a1-518d-7000-9adf-9fb667036bee: Edit plan.md +2 −1. Nothing has changed yet; a person decides, and you will be told. Go on without it and do not repeat it.",
    "summary": "Drafted: Edit plan.md +2 −1",
    "durationMs": 5,
    "report": {
      "state": "waiting",
      "effect": "write",
      "lines": {
        "added": 2,
        "removed": 1
      }
    },
    "type": "tool_result"
  },
  {
    "draftId": "01a1e5a1-518d-7000-9adf-9fb667036bee",
    "tool": "edit_file",
    "summary": "Edit plan.md +2 −1",
    "preview": {
      "kind": "diff",
      "path": "plan.md",
      "unified": "--- plan.md\n+++ plan.md\n@@ -1,2 +1,3 @@\n one\n-two\n+2\n+three\n"
    },
    "asksFor": "approval",
    "type": "draft"
  },
  {
    "turnId": "01a1e5a1-5197-7000-b602-c1559052e9ce",
    "toolUseId": "c",
    "tool": "read_file",
    "input": {
      "path": "nowhere.md"
    },
    "summary": "Read nowhere.md",
    "label": {
      "verb": {
        "plain": "Read",
        "wants": "Wants to read",
        "doing": "Reading",
        "did": "Read",
        "refused": "Was not allowed to read",
        "failed": "Could not read"
      },
      "subject": "nowhere.md",
      "target": {
        "kind": "file",
        "name": "nowhere.md"
      }
    },
    "type": "tool_call"
  },
  {
    "input": 3600,
    "output": 900,
    "cacheRead": 0,
    "cacheWrite": 0,
    "cost": 0,
    "type": "usage"
  },
  {
    "turnId": "01a1e5a1-519e-7000-991e-fee137cde087",
    "toolUseId": "c",
    "tool": "read_file",
    "ok": false,
    "output": "there is no file nowhere.md; list_files shows what there is",
    "summary": "there is no file nowhere.md; list_files shows what there is",
    "durationMs": 1,
    "report": {
      "state": "failed"
    },
    "type": "tool_result"
  },
  {
    "turnId": "01a1e5a1-51a2-7000-863b-465520f85bf3",
    "toolUseId": "d",
    "tool": "mcp_weather",
    "input": {
      "town": "Bergen"
    },
    "summary": "Call mcp_weather",
    "label": {
      "verb": {
        "plain": "Call",
        "wants": "Wants to call",
        "doing": "Calling",
        "did": "Called",
        "refused": "Was not allowed to call",
        "failed": "Could not call"
      },
      "subject": "mcp_weather"
    },
    "type": "tool_call"
  },
  {
    "input": 4800,
    "output": 1200,
    "cacheRead": 0,
    "cacheWrite": 0,
    "cost": 0,
    "type": "usage"
  },
  {
    "turnId": "01a1e5a1-51a5-7000-b9fe-f239fef3063a",
    "toolUseId": "d",
    "tool": "mcp_weather",
    "ok": false,
    "output": "there is no tool \"mcp_weather\"; yours: none",
    "summary": "there is no tool \"mcp_weather\"; yours: none",
    "durationMs": 1,
    "report": {
      "state": "refused"
    },
    "type": "tool_result"
  },
  {
    "turnId": "01a1e5a1-51a8-7000-902a-19d03ef16828",
    "toolUseId": "e",
    "tool": "memory_write",
    "input": {
      "text": "Likes oak"
    },
    "summary": "Note Likes oak",
    "label": {
      "verb": {
        "plain": "Note",
        "wants": "Wants to note",
        "doing": "Noting",
        "did": "Noted",
        "refused": "Was not allowed to note",
        "failed": "Could not note"
      },
      "subject": "Likes oak"
    },
    "type": "tool_call"
  },
  {
    "input": 6000,
    "output": 1500,
    "cacheRead": 0,
    "cacheWrite": 0,
    "cost": 0,
    "type": "usage"
  },
  {
    "turnId": "01a1e5a1-51bd-7000-87fd-eb504ef6d814",
    "toolUseId": "e",
    "tool": "memory_write",
    "ok": true,
    "output": "Drafted as 01a1e5a1-51b4-7000-9756-c0b0e6f8330f: Note Likes oak. Nothing has changed yet; a person decides, and you will be told. Go on without it and do not repeat it.",
    "summary": "Drafted: Note Likes oak",
    "durationMs": 10,
    "report": {
      "state": "waiting",
      "effect": "write"
    },
    "type": "tool_result"
  },
  {
    "draftId": "01a1e5a1-51b4-7000-9756-c0b0e6f8330f",
    "tool": "memory_write",
    "summary": "Note Likes oak",
    "preview": {
      "kind": "text",
      "text": "- 18:31 Likes oak\n"
    },
    "asksFor": "approval",
    "type": "draft"
  },
  {
    "turnId": "01a1e5a1-51c2-7000-ae55-a1a6283d0d8e",
    "toolUseId": "f",
    "tool": "git_commit",
    "input": {
      "message": "x"
    },
    "summary": "Commit: x",
    "label": {
      "verb": {
        "plain": "Commit:",
        "wants": "Wants to commit:",
        "doing": "Committing:",
        "did": "Committed:",
        "refused": "Was not allowed to commit:",
        "failed": "Could not commit:"
      },
      "subject": "x"
    },
    "type": "tool_call"
  },
  {
    "input": 7200,
    "output": 1800,
    "cacheRead": 0,
    "cacheWrite": 0,
    "cost": 0,
    "type": "usage"
  },
  {
    "turnId": "01a1e5a1-51c8-7000-9def-a293e1d3085d",
    "toolUseId": "f",
    "tool": "git_commit",
    "ok": false,
    "output": "there is no tool \"git_commit\"; yours: none",
    "summary": "there is no tool \"git_commit\"; yours: none",
    "durationMs": 1,
    "report": {
      "state": "refused"
    },
    "type": "tool_result"
  },
  {
    "turnId": "01a1e5a1-51d2-7000-b4fb-fc7fa78cf8ef",
    "toolUseId": "g",
    "tool": "web_fetch",
    "input": {
      "url": "https://example.org/a"
    },
    "summary": "Fetch https://example.org/a",
    "label": {
      "verb": {
        "plain": "Fetch",
        "wants": "Wants to fetch",
        "doing": "Fetching",
        "did": "Fetched",
        "refused": "Was not allowed to fetch",
        "failed": "Could not fetch"
      },
      "subject": "https://example.org/a",
      "target": {
        "kind": "address",
        "name": "https://example.org/a"
      }
    },
    "type": "tool_call"
  },
  {
    "input": 8400,
    "output": 2100,
    "cacheRead": 0,
    "cacheWrite": 0,
    "cost": 0,
    "type": "usage"
  },
  {
    "turnId": "01a1e5a1-51ea-7000-bb0b-6b36be4cccd2",
    "toolUseId": "g",
    "tool": "web_fetch",
    "ok": true,
    "output": "Drafted as 01a1e5a1-51dc-7000-834c-04af747b5353: Fetch https://example.org/a. Nothing has changed yet; a person decides, and you will be told. Go on without it and do not repeat it.",
    "summary": "Drafted: Fetch https://example.org/a",
    "durationMs": 15,
    "report": {
      "state": "waiting",
      "effect": "reach"
    },
    "type": "tool_result"
  },
  {
    "draftId": "01a1e5a1-51dc-7000-834c-04af747b5353",
    "tool": "web_fetch",
    "summary": "Fetch https://example.org/a",
    "preview": {
      "kind": "text",
      "text": "GET https://example.org/a"
    },
    "asksFor": "approval",
    "type": "draft"
  },
  {
    "turnId": "01a1e5a1-51f0-7000-841b-68b3fd74d72a",
    "text": "Done. See plan.md:1-2.",
    "type": "delta"
  },
  {
    "input": 9600,
    "output": 2400,
    "cacheRead": 0,
    "cacheWrite": 0,
    "cost": 0,
    "type": "usage"
  },
  {
    "status": "done",
    "assistantTurnIds": [
      "01a1e5a1-5168-7000-a929-0b15928e71e9",
      "01a1e5a1-51f0-7000-841b-68b3fd74d72a"
    ],
    "usage": {
      "input": 9600,
      "output": 2400,
      "cacheRead": 0,
      "cacheWrite": 0,
      "cost": 0
    },
    "type": "done"
  }
] as RunEvent[];

export const TURNS = [
  {
    "id": "01a1e5a1-514c-7000-9480-6c184d2532ef",
    "ts": "2026-11-16T18:31:57.004Z",
    "runId": "01a1e5a1-5106-7001-a4e4-fb7fdcd0f9a5",
    "lane": 0,
    "author": "system",
    "origin": "agent",
    "type": "run_start",
    "agents": [
      "main"
    ],
    "model": "mine/some-model"
  },
  {
    "id": "01a1e5a1-5106-7002-84d0-dd6607cb72ed",
    "ts": "2026-11-16T18:31:57.004Z",
    "runId": "01a1e5a1-5106-7001-a4e4-fb7fdcd0f9a5",
    "lane": 0,
    "author": "person:owner",
    "origin": "person",
    "type": "user",
    "content": "Look and change"
  },
  {
    "id": "01a1e5a1-5168-7000-a929-0b15928e71e9",
    "ts": "2026-11-16T18:31:57.032Z",
    "runId": "01a1e5a1-5106-7001-a4e4-fb7fdcd0f9a5",
    "lane": 0,
    "author": "agent:main",
    "origin": "agent",
    "type": "assistant_text",
    "content": "Let me look.",
    "status": "complete",
    "model": "mine/some-model"
  },
  {
    "id": "01a1e5a1-5168-7001-8535-861a099d3cc3",
    "ts": "2026-11-16T18:31:57.032Z",
    "runId": "01a1e5a1-5106-7001-a4e4-fb7fdcd0f9a5",
    "lane": 0,
    "author": "agent:main",
    "origin": "agent",
    "type": "tool_call",
    "toolUseId": "a",
    "toolName": "read_file",
    "input": {
      "path": "plan.md"
    },
    "usedSoFar": {
      "usage": {
        "input": 1200,
        "output": 300,
        "cache_read": 0,
        "cache_write": 0,
        "cost": 0
      },
      "model": "mine/some-model"
    },
    "label": {
      "verb": {
        "plain": "Read",
        "wants": "Wants to read",
        "doing": "Reading",
        "did": "Read",
        "refused": "Was not allowed to read",
        "failed": "Could not read"
      },
      "subject": "plan.md",
      "target": {
        "kind": "file",
        "name": "plan.md"
      }
    }
  },
  {
    "id": "01a1e5a1-5185-7000-9647-73b76f5258ee",
    "ts": "2026-11-16T18:31:57.061Z",
    "runId": "01a1e5a1-5106-7001-a4e4-fb7fdcd0f9a5",
    "lane": 0,
    "author": "system",
    "origin": "person",
    "type": "tool_result",
    "toolUseId": "a",
    "output": "one\ntwo\n",
    "isError": false,
    "durationMs": 19,
    "report": {
      "state": "done",
      "effect": "read"
    }
  },
  {
    "id": "01a1e5a1-5189-7000-90e4-caa0ee5b1a7d",
    "ts": "2026-11-16T18:31:57.065Z",
    "runId": "01a1e5a1-5106-7001-a4e4-fb7fdcd0f9a5",
    "lane": 0,
    "author": "agent:main",
    "origin": "agent",
    "type": "tool_call",
    "toolUseId": "b",
    "toolName": "edit_file",
    "input": {
      "path": "plan.md",
      "old": "two",
      "new": "2\nthree"
    },
    "usedSoFar": {
      "usage": {
        "input": 2400,
        "output": 600,
        "cache_read": 0,
        "cache_write": 0,
        "cost": 0
      },
      "model": "mine/some-model"
    },
    "label": {
      "verb": {
        "plain": "Edit",
        "wants": "Wants to edit",
        "doing": "Editing",
        "did": "Edited",
        "refused": "Was not allowed to edit",
        "failed": "Could not edit"
      },
      "subject": "plan.md",
      "target": {
        "kind": "file",
        "name": "plan.md"
      },
      "change": {
        "unified": "--- plan.md\n+++ plan.md\n@@ -1 +1,2 @@\n-two\n\\ No newline at end of file\n+2\n+three\n\\ No newline at end of file\n",
        "added": 2,
        "removed": 1
      }
    }
  },
  {
    "id": "01a1e5a1-5192-7000-b1f6-aa2fce60f75f",
    "ts": "2026-11-16T18:31:57.074Z",
    "runId": "01a1e5a1-5106-7001-a4e4-fb7fdcd0f9a5",
    "lane": 0,
    "author": "system",
    "origin": "person",
    "type": "tool_result",
    "toolUseId": "b",
    "output": "Drafted as 01a1e5a1-518d-7000-9adf-9fb667036bee: Edit plan.md +2 −1. Nothing has changed yet; a person decides, and you will be told. Go on without it and do not repeat it.",
    "isError": false,
    "draftId": "01a1e5a1-518d-7000-9adf-9fb667036bee",
    "durationMs": 5,
    "report": {
      "state": "waiting",
      "effect": "write",
      "lines": {
        "added": 2,
        "removed": 1
      }
    }
  },
  {
    "id": "01a1e5a1-5197-7000-b602-c1559052e9ce",
    "ts": "2026-11-16T18:31:57.079Z",
    "runId": "01a1e5a1-5106-7001-a4e4-fb7fdcd0f9a5",
    "lane": 0,
    "author": "agent:main",
    "origin": "agent",
    "type": "tool_call",
    "toolUseId": "c",
    "toolName": "read_file",
    "input": {
      "path": "nowhere.md"
    },
    "usedSoFar": {
      "usage": {
        "input": 3600,
        "output": 900,
        "cache_read": 0,
        "cache_write": 0,
        "cost": 0
      },
      "model": "mine/some-model"
    },
    "label": {
      "verb": {
        "plain": "Read",
        "wants": "Wants to read",
        "doing": "Reading",
        "did": "Read",
        "refused": "Was not allowed to read",
        "failed": "Could not read"
      },
      "subject": "nowhere.md",
      "target": {
        "kind": "file",
        "name": "nowhere.md"
      }
    }
  },
  {
    "id": "01a1e5a1-519e-7000-991e-fee137cde087",
    "ts": "2026-11-16T18:31:57.086Z",
    "runId": "01a1e5a1-5106-7001-a4e4-fb7fdcd0f9a5",
    "lane": 0,
    "author": "system",
    "origin": "agent",
    "type": "tool_result",
    "toolUseId": "c",
    "output": "there is no file nowhere.md; list_files shows what there is",
    "isError": true,
    "durationMs": 1,
    "report": {
      "state": "failed"
    }
  },
  {
    "id": "01a1e5a1-51a2-7000-863b-465520f85bf3",
    "ts": "2026-11-16T18:31:57.090Z",
    "runId": "01a1e5a1-5106-7001-a4e4-fb7fdcd0f9a5",
    "lane": 0,
    "author": "agent:main",
    "origin": "agent",
    "type": "tool_call",
    "toolUseId": "d",
    "toolName": "mcp_weather",
    "input": {
      "town": "Bergen"
    },
    "usedSoFar": {
      "usage": {
        "input": 4800,
        "output": 1200,
        "cache_read": 0,
        "cache_write": 0,
        "cost": 0
      },
      "model": "mine/some-model"
    },
    "label": {
      "verb": {
        "plain": "Call",
        "wants": "Wants to call",
        "doing": "Calling",
        "did": "Called",
        "refused": "Was not allowed to call",
        "failed": "Could not call"
      },
      "subject": "mcp_weather"
    }
  },
  {
    "id": "01a1e5a1-51a5-7000-b9fe-f239fef3063a",
    "ts": "2026-11-16T18:31:57.093Z",
    "runId": "01a1e5a1-5106-7001-a4e4-fb7fdcd0f9a5",
    "lane": 0,
    "author": "system",
    "origin": "agent",
    "type": "tool_result",
    "toolUseId": "d",
    "output": "there is no tool \"mcp_weather\"; yours: none",
    "isError": true,
    "durationMs": 1,
    "report": {
      "state": "refused"
    }
  },
  {
    "id": "01a1e5a1-51a8-7000-902a-19d03ef16828",
    "ts": "2026-11-16T18:31:57.096Z",
    "runId": "01a1e5a1-5106-7001-a4e4-fb7fdcd0f9a5",
    "lane": 0,
    "author": "agent:main",
    "origin": "agent",
    "type": "tool_call",
    "toolUseId": "e",
    "toolName": "memory_write",
    "input": {
      "text": "Likes oak"
    },
    "usedSoFar": {
      "usage": {
        "input": 6000,
        "output": 1500,
        "cache_read": 0,
        "cache_write": 0,
        "cost": 0
      },
      "model": "mine/some-model"
    },
    "label": {
      "verb": {
        "plain": "Note",
        "wants": "Wants to note",
        "doing": "Noting",
        "did": "Noted",
        "refused": "Was not allowed to note",
        "failed": "Could not note"
      },
      "subject": "Likes oak"
    }
  },
  {
    "id": "01a1e5a1-51bd-7000-87fd-eb504ef6d814",
    "ts": "2026-11-16T18:31:57.117Z",
    "runId": "01a1e5a1-5106-7001-a4e4-fb7fdcd0f9a5",
    "lane": 0,
    "author": "system",
    "origin": "person",
    "type": "tool_result",
    "toolUseId": "e",
    "output": "Drafted as 01a1e5a1-51b4-7000-9756-c0b0e6f8330f: Note Likes oak. Nothing has changed yet; a person decides, and you will be told. Go on without it and do not repeat it.",
    "isError": false,
    "draftId": "01a1e5a1-51b4-7000-9756-c0b0e6f8330f",
    "durationMs": 10,
    "report": {
      "state": "waiting",
      "effect": "write"
    }
  },
  {
    "id": "01a1e5a1-51c2-7000-ae55-a1a6283d0d8e",
    "ts": "2026-11-16T18:31:57.122Z",
    "runId": "01a1e5a1-5106-7001-a4e4-fb7fdcd0f9a5",
    "lane": 0,
    "author": "agent:main",
    "origin": "agent",
    "type": "tool_call",
    "toolUseId": "f",
    "toolName": "git_commit",
    "input": {
      "message": "x"
    },
    "usedSoFar": {
      "usage": {
        "input": 7200,
        "output": 1800,
        "cache_read": 0,
        "cache_write": 0,
        "cost": 0
      },
      "model": "mine/some-model"
    },
    "label": {
      "verb": {
        "plain": "Commit:",
        "wants": "Wants to commit:",
        "doing": "Committing:",
        "did": "Committed:",
        "refused": "Was not allowed to commit:",
        "failed": "Could not commit:"
      },
      "subject": "x"
    }
  },
  {
    "id": "01a1e5a1-51c8-7000-9def-a293e1d3085d",
    "ts": "2026-11-16T18:31:57.128Z",
    "runId": "01a1e5a1-5106-7001-a4e4-fb7fdcd0f9a5",
    "lane": 0,
    "author": "system",
    "origin": "agent",
    "type": "tool_result",
    "toolUseId": "f",
    "output": "there is no tool \"git_commit\"; yours: none",
    "isError": true,
    "durationMs": 1,
    "report": {
      "state": "refused"
    }
  },
  {
    "id": "01a1e5a1-51d2-7000-b4fb-fc7fa78cf8ef",
    "ts": "2026-11-16T18:31:57.138Z",
    "runId": "01a1e5a1-5106-7001-a4e4-fb7fdcd0f9a5",
    "lane": 0,
    "author": "agent:main",
    "origin": "agent",
    "type": "tool_call",
    "toolUseId": "g",
    "toolName": "web_fetch",
    "input": {
      "url": "https://example.org/a"
    },
    "usedSoFar": {
      "usage": {
        "input": 8400,
        "output": 2100,
        "cache_read": 0,
        "cache_write": 0,
        "cost": 0
      },
      "model": "mine/some-model"
    },
    "label": {
      "verb": {
        "plain": "Fetch",
        "wants": "Wants to fetch",
        "doing": "Fetching",
        "did": "Fetched",
        "refused": "Was not allowed to fetch",
        "failed": "Could not fetch"
      },
      "subject": "https://example.org/a",
      "target": {
        "kind": "address",
        "name": "https://example.org/a"
      }
    }
  },
  {
    "id": "01a1e5a1-51ea-7000-bb0b-6b36be4cccd2",
    "ts": "2026-11-16T18:31:57.162Z",
    "runId": "01a1e5a1-5106-7001-a4e4-fb7fdcd0f9a5",
    "lane": 0,
    "author": "system",
    "origin": "person",
    "type": "tool_result",
    "toolUseId": "g",
    "output": "Drafted as 01a1e5a1-51dc-7000-834c-04af747b5353: Fetch https://example.org/a. Nothing has changed yet; a person decides, and you will be told. Go on without it and do not repeat it.",
    "isError": false,
    "draftId": "01a1e5a1-51dc-7000-834c-04af747b5353",
    "durationMs": 15,
    "report": {
      "state": "waiting",
      "effect": "reach"
    }
  },
  {
    "id": "01a1e5a1-51f0-7000-841b-68b3fd74d72a",
    "ts": "2026-11-16T18:31:57.168Z",
    "runId": "01a1e5a1-5106-7001-a4e4-fb7fdcd0f9a5",
    "lane": 0,
    "author": "agent:main",
    "origin": "agent",
    "type": "assistant_text",
    "content": "Done. See plan.md:1-2.",
    "status": "complete",
    "model": "mine/some-model"
  },
  {
    "id": "01a1e5a1-51f0-7001-abc1-0efb736ca79c",
    "ts": "2026-11-16T18:31:57.168Z",
    "runId": "01a1e5a1-5106-7001-a4e4-fb7fdcd0f9a5",
    "lane": 0,
    "author": "system",
    "origin": "agent",
    "type": "run_end",
    "status": "done",
    "usage": {
      "input": 9600,
      "output": 2400,
      "cacheRead": 0,
      "cacheWrite": 0,
      "cost": 0
    },
    "cost": 0,
    "model": "mine/some-model"
  }
] as Turn[];
