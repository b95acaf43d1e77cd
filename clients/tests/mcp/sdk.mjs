// The official TypeScript SDK connects with the address alone: it reads where to sign in, registers, sends the person's
// browser there and uses the tokens.
import assert from 'node:assert/strict';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const base = process.env.ONYX_URL;
const address = new URL(`${base}/mcp`);

class Person {
  redirectUrl = 'http://127.0.0.1:3999/callback';
  clientMetadata = {
    client_name: 'sdk.mjs',
    redirect_uris: [this.redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    scope: process.env.ONYX_SCOPE,
  };
  clientInformation() {
    return this.client;
  }
  saveClientInformation(client) {
    this.client = client;
  }
  tokens() {
    return this.kept;
  }
  saveTokens(tokens) {
    this.kept = tokens;
  }
  saveCodeVerifier(verifier) {
    this.verifier = verifier;
  }
  codeVerifier() {
    return this.verifier;
  }
  // Plays the browser of a signed-in person who grants access.
  async redirectToAuthorization(page) {
    const asked = Object.fromEntries(page.searchParams);
    asked.scope = process.env.ONYX_SCOPE ?? asked.scope;
    const answer = await fetch(`${base}/api/oauth/authorize`, {
      method: 'POST',
      headers: { authorization: `Bearer ${process.env.ONYX_TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify(asked),
    });
    assert.equal(answer.status, 200, await answer.clone().text());
    const back = new URL((await answer.json()).redirect);
    assert.equal(back.searchParams.get('iss'), base);
    this.code = back.searchParams.get('code');
  }
}

const person = new Person();
const made = () => {
  const client = new Client({ name: 'sdk.mjs', version: '1' }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, async (request) => {
    assert.match(request.params.message, /new\.md/);
    return { action: 'accept', content: { approve: true } };
  });
  return client;
};
const first = new StreamableHTTPClientTransport(address, { authProvider: person });
await assert.rejects(made().connect(first), UnauthorizedError);
await first.finishAuth(person.code);
const client = made();
await client.connect(new StreamableHTTPClientTransport(address, { authProvider: person }));
const { tools } = await client.listTools();
assert.ok(tools.some((tool) => tool.name === 'read_file'));
const read = await client.callTool({ name: 'read_file', arguments: { path: 'a.md' } });
assert.equal(read.content[0].text, 'my note\n');
// The same call as a task: first a handle, then the result when it is asked for.
const told = [];
const call = { name: 'read_file', arguments: { path: 'a.md' } };
for await (const message of client.experimental.tasks.callToolStream(call, undefined, { task: { ttl: 60_000 } })) {
  told.push(message);
}
assert.equal(told[0].type, 'taskCreated', JSON.stringify(told));
assert.equal(told.at(-1).type, 'result', JSON.stringify(told));
assert.equal(told.at(-1).result.content[0].text, 'my note\n');
const kept = await client.experimental.tasks.listTasks();
assert.deepEqual(
  kept.tasks.map((task) => task.status),
  ['completed'],
);
const { resources } = await client.listResources();
const note = resources.find((resource) => resource.name === 'vault/a.md');
const { contents } = await client.readResource({ uri: note.uri });
assert.equal(contents[0].text, 'my note\n');
await client.listPrompts();
const written = await client.callTool({ name: 'write_file', arguments: { path: 'new.md', content: 'hi' } });
assert.notEqual(written.isError, true, JSON.stringify(written));
await client.close();
console.log(`ok: ${tools.length} tools, ${resources.length} resources, and a person who was asked`);
