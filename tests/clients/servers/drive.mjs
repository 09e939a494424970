// MCP servers that somebody else wrote: started by the real `tiller`, from its command line and from an editor's session.
//
// drive.mjs TILLER: the first wrong thing ends it with 1 and a message.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const tiller = resolve(process.argv.at(-1));
const require = createRequire(import.meta.url);
const everything = join(dirname(require.resolve("@modelcontextprotocol/server-everything/package.json")), "dist/index.js");
const home = await mkdtemp(join(tmpdir(), "tiller-servers-"));
const project = join(home, "project");
const ended = [];

/** Ends a process, and waits until it has ended. */
const stop = (child) =>
  new Promise((stopped) => {
    if (child.exitCode !== null || child.signalCode !== null) return stopped();
    child.once("exit", stopped);
    child.kill();
  });

/** The environment of a user who has nothing but this home. */
const environment = (more = {}) => ({ PATH: process.env.PATH, HOME: home, TILLER_HOME: join(home, "tiller"), ...more });

/** Runs `tiller mcp …` and returns what it printed as JSON. */
async function mcp(args, works = true) {
  const options = { cwd: project, env: environment(), timeout: 60_000 };
  const run = new Promise((done) =>
    execFile(tiller, ["mcp", ...args], options, (error, stdout, stderr) => done({ error, stdout, stderr })),
  );
  const { error, stdout, stderr } = await run;
  assert.equal(error === null, works, `tiller mcp ${args.join(" ")}: ${stdout} ${stderr}`);
  const said = JSON.parse(stdout);
  assert.equal(said.success, works);
  return said;
}

/** A server that is up, over either transport. */
async function works(name) {
  const { tools } = await mcp(["tools", name, "--json"]);
  const names = tools.map((tool) => tool.function);
  assert.ok(names.includes(`mcp__${name}__echo`), names.join(" "));
  const echoed = await mcp(["call", `${name}.echo`, "--arg", "message=hello", "--json"]);
  assert.equal(echoed.data, "Echo: hello");
  const image = await mcp(["call", `${name}.get-tiny-image`, "--json"]);
  assert.ok(image.data.some((item) => item.type === "image"), JSON.stringify(image.data).slice(0, 200));
  const { resources } = await mcp(["resources", name, "--json"]);
  assert.ok(resources.length > 0);
  const { contents } = await mcp(["resources", name, resources[0].uri, "--json"]);
  assert.ok(contents.length > 0);
  const { prompts } = await mcp(["prompts", name, "--json"]);
  assert.ok(prompts.length > 0);
  const wrong = await mcp(["call", `${name}.echo`, "--json"], false);
  assert.ok(JSON.stringify(wrong).includes("message"), "what is missing is named");
  console.log(`${name}: ${tools.length} tools, ${resources.length} resources, ${prompts.length} prompts`);
}

/** A model that calls one tool and then says so; what it was asked. */
async function model(asked) {
  const event = (delta, reason = null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`;
  const call = { index: 0, id: "c0", type: "function", function: { name: "mcp__everything__echo", arguments: '{"message":"from the model"}' } };
  const done = event({ content: "Done." }, "stop");
  const answers = [event({ tool_calls: [call] }) + event({}, "tool_calls"), done, done, done];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (piece) => (body += piece));
    request.on("end", () => {
      // It lists no models.
      if (request.method === "GET") return response.writeHead(404).end();
      asked.push(JSON.parse(body));
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(answers.shift());
    });
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  ended.push(() => server.close());
  return `http://127.0.0.1:${server.address().port}`;
}

/** An editor that gives its session a server and allows each call once. */
async function editor() {
  const asked = [];
  const base = await model(asked);
  const more = { OPENAI_API_KEY: "key", OPENAI_BASE_URL: base, TILLER_MODEL: "openai/test" };
  const agent = spawn(tiller, ["acp"], { cwd: project, env: environment(more), stdio: ["pipe", "pipe", "inherit"] });
  ended.push(() => stop(agent));
  const waiting = new Map();
  const updates = [];
  let permissions = 0;
  const send = (message) => agent.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  createInterface({ input: agent.stdout }).on("line", (line) => {
    const message = JSON.parse(line);
    if (message.method === "session/request_permission") {
      permissions += 1;
      send({ id: message.id, result: { outcome: { outcome: "selected", optionId: "allow_once" } } });
    } else if (message.method === "session/update") {
      updates.push(message.params.update);
    } else {
      waiting.get(message.id)(message);
    }
  });
  const ask = async (id, method, params) => {
    const answer = new Promise((answered) => waiting.set(id, answered));
    send({ id, method, params });
    const { result, error } = await answer;
    assert.equal(error, undefined, `${method}: ${JSON.stringify(error)}`);
    return result;
  };
  await ask(1, "initialize", { protocolVersion: 1, clientCapabilities: {} });
  const servers = [{ name: "everything", command: process.execPath, args: [everything, "stdio"], env: [] }];
  const { sessionId } = await ask(2, "session/new", { cwd: project, mcpServers: servers });
  const { stopReason } = await ask(3, "session/prompt", { sessionId, prompt: [{ type: "text", text: "go" }] });
  assert.equal(stopReason, "end_turn");
  assert.equal(permissions, 1, "the call was asked about");
  const told = asked[0].tools.map((tool) => tool.function.name);
  assert.ok(told.includes("mcp__everything__echo"), told.join(" "));
  const result = asked[1].messages.find((message) => message.role === "tool");
  assert.equal(result.content, "Echo: from the model");
  assert.ok(updates.some((update) => update.status === "completed"));
  console.log("editor → agent → server: echoed");

  const commands = () => {
    const listed = updates.filter((update) => update.sessionUpdate === "available_commands_update").at(-1);
    return listed.availableCommands.map((command) => command.name);
  };
  // They come when the server has told them, and not before.
  for (const end = Date.now() + 20_000; Date.now() < end && !commands().includes("mcp__everything__args-prompt"); ) {
    await new Promise((later) => setTimeout(later, 50));
  }
  assert.ok(commands().includes("help") && commands().includes("mcp__everything__args-prompt"), commands().join(" "));
  const said = async (id, text) => {
    const { stopReason } = await ask(id, "session/prompt", { sessionId, prompt: [{ type: "text", text }] });
    assert.equal(stopReason, "end_turn");
    return JSON.stringify(asked.at(-1).messages.at(-1).content);
  };
  const filled = await said(4, "/mcp__everything__args-prompt city=Rome state=\"Upper Left\"");
  assert.ok(filled.includes("What's weather in Rome, Upper Left?"), filled);
  const { resources } = await mcp(["resources", "local", "--json"]);
  const attached = await said(5, `Read @everything:${resources[0].uri}, please.`);
  assert.ok(attached.includes(`Attached: ${resources[0].uri}`), attached);
  console.log("a prompt as a command, and a resource that is mentioned: both reach the model");
}

/** The client of the protocol's own SDK against `tiller mcp serve`. */
async function gateway() {
  const sdk = createRequire(require.resolve("@modelcontextprotocol/server-everything/package.json"));
  const load = (path) => import(pathToFileURL(sdk.resolve(`@modelcontextprotocol/sdk/${path}`)));
  const { Client } = await load("client/index.js");
  const { StdioClientTransport } = await load("client/stdio.js");
  for (const write of ["deny", "allow"]) {
    const client = new Client({ name: "drive", version: "1" });
    const args = ["mcp", "serve", "--upstream", "local", "--write", write];
    await client.connect(new StdioClientTransport({ command: tiller, args, cwd: project, env: environment() }));
    ended.push(() => client.close());
    assert.equal(client.getServerVersion().name, "tiller");
    await client.ping();
    const { tools } = await client.listTools();
    const names = tools.map((tool) => tool.name);
    const hidden = tools.filter((tool) => tool.annotations.readOnlyHint !== true);
    assert.equal(hidden.length > 0, write === "allow", names.join(" "));
    assert.ok(names.includes("local__echo"), names.join(" "));
    const calls = [1, 2, 3, 4, 5].map((n) => client.callTool({ name: "local__echo", arguments: { message: `call ${n}` } }));
    const texts = (await Promise.all(calls)).map((result) => result.content[0].text);
    assert.deepEqual(texts, [1, 2, 3, 4, 5].map((n) => `Echo: call ${n}`));
    const image = await client.callTool({ name: "local__get-tiny-image", arguments: {} });
    assert.ok(image.content.some((item) => item.type === "image"));
    await assert.rejects(client.callTool({ name: "local__none", arguments: {} }), /Unknown tool/);
    const wrong = await client.callTool({ name: "local__echo", arguments: {} });
    assert.equal(wrong.isError, true, JSON.stringify(wrong));
    const abort = new AbortController();
    const long = { name: "local__trigger-long-running-operation", arguments: { duration: 60, steps: 60 } };
    if (names.includes(long.name)) {
      const running = client.callTool(long, undefined, { signal: abort.signal });
      abort.abort();
      await assert.rejects(running);
      await client.ping();
    }
    await client.close();
    console.log(`SDK client → tiller mcp serve --write ${write}: ${names.length} tools`);
  }
}

try {
  await mkdir(project);
  await mkdir(join(home, "tiller"));
  await writeFile(join(home, "tiller/config.toml"), "[providers.local]\ndiscover = false\n[providers.openai]\nwire = 'chat'\n");
  await mcp(["add", "local", "--json", "--", process.execPath, everything, "stdio"]);
  await works("local");

  const free = createServer();
  await new Promise((listening) => free.listen(0, "127.0.0.1", listening));
  const { port } = free.address();
  await new Promise((closed) => free.close(closed));
  const web = spawn(process.execPath, [everything, "streamableHttp"], {
    env: { PATH: process.env.PATH, PORT: `${port}` },
    stdio: ["ignore", "ignore", "pipe"],
  });
  ended.push(() => stop(web));
  await new Promise((up, down) => {
    createInterface({ input: web.stderr }).on("line", (line) => line.includes("listening") && up());
    web.on("exit", (code) => down(new Error(`the server ended with ${code}`)));
  });
  await mcp(["add", "web", "--url", `http://127.0.0.1:${port}/mcp`, "--json"]);
  await works("web");
  await mcp(["remove", "web", "--json"]);

  await gateway();
  await editor();
} finally {
  // A process that still runs would write into the directory while it is removed.
  for (const end of ended.reverse()) await end();
  await rm(home, { recursive: true, force: true });
}
