// What Onyx and this program say to each other, one JSON object a line. Onyx alone executes tools: a call comes back in
// the envelope `{id, name, arguments}` and its result goes in as `{id, ok, content, error}`.

export interface Tool {
  name: string;
  description: string;
  parameters: unknown;
}

export type Content = { type: 'text'; text: string } | { type: 'image'; media_type: string; data: string };

export interface ToolCall {
  id: string;
  name: string;
  arguments: Record<string, unknown>;
}

export interface ToolResult {
  id: string;
  ok: boolean;
  content?: string;
  error?: string;
}

export type Message =
  | { role: 'user'; content: Content[] }
  | { role: 'assistant'; text: string; calls: ToolCall[] }
  | { role: 'tool'; results: ToolResult[] };

export interface Ask {
  type: 'ask';
  id: number;
  /** `<Pi's provider>/<model>`. */
  model: string;
  system: string;
  messages: Message[];
  tools: Tool[];
  max_tokens?: number;
  temperature?: number;
  session?: string;
}

export type Order = Ask | { type: 'cancel'; id: number } | { type: 'status'; id: number };

export type Trouble =
  | 'auth'
  | 'rate_limited'
  | 'overloaded'
  | 'invalid_request'
  | 'context_length'
  | 'unknown_model'
  | 'unavailable'
  | 'cancelled';

export interface Usage {
  input: number;
  output: number;
  cache_read: number;
  cache_write: number;
}

/** Pi's file says that there is a sign-in, not whose it is. */
export interface SignIn {
  provider: string;
  expires_at: number;
}

export type Reply =
  | { type: 'ready'; version: 1 }
  | { type: 'text'; id: number; delta: string }
  | { type: 'thinking'; id: number; delta: string }
  | { type: 'call'; id: number; call: ToolCall }
  | { type: 'done'; id: number; reason: 'stop' | 'length' | 'tool_calls'; usage: Usage }
  | { type: 'failed'; id: number; trouble: Trouble; message: string; retry_after_ms?: number }
  | { type: 'status'; id: number; sign_ins: SignIn[] };
