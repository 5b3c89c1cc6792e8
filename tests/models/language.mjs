// A small language model behind the wire format of OpenAI, for the tests: /v1/chat/completions with
// JSON schemas, /v1/embeddings (handed on to embed.py) and /v1/models. It listens on loopback only and
// ends after ten minutes without a request.
//
// node language.mjs FOLDER PORT_FILE
import { spawn } from "node:child_process";
import { rename, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const [folder, portFile] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const engine = join(folder, "node/node_modules/node-llama-cpp/dist/index.js");
const { getLlama, LlamaChatSession } = await import(
  pathToFileURL(engine)
);

const llama = await getLlama({ build: "never", gpu: false, skipDownload: true, logLevel: "error" });
const model = await llama.loadModel({ modelPath: join(folder, "language-model.gguf") });
// One thread: the machines of CI have two cores, and the tests need the other one.
const context = await model.createContext({ threads: 1, contextSize: 4096, sequences: 1 });
const sequence = context.getSequence();

const embedder = spawn("python3", [join(here, "embed.py"), folder], {
  stdio: ["pipe", "pipe", "inherit"],
});
const waiting = [];
let line = "";
embedder.stdout.setEncoding("utf8").on("data", (piece) => {
  line += piece;
  for (let end; (end = line.indexOf("\n")) >= 0; line = line.slice(end + 1)) {
    waiting.shift()(JSON.parse(line.slice(0, end)));
  }
});
embedder.on("exit", () => process.exit(1));

class Refused extends Error {}

// A session keeps what was said before, and a call must not depend on the calls before it.
async function chat(request) {
  const of = (role) => request.messages.filter((message) => message.role === role);
  const system = of("system").map((message) => message.content).join("\n");
  const user = of("user").at(-1)?.content;
  if (typeof user !== "string") throw new Refused("there is no message of the user");
  const format = request.response_format;
  let grammar;
  if (format?.type === "json_schema") {
    grammar = await llama.createGrammarForJsonSchema(format.json_schema.schema);
  } else if (format?.type === "json_object") {
    grammar = await llama.getGrammarFor("json");
  }
  await sequence.clearHistory();
  const before = sequence.tokenMeter.getState();
  const session = new LlamaChatSession({ contextSequence: sequence, systemPrompt: system });
  try {
    const { responseText, stopReason } = await session.promptWithMeta(user, {
      grammar,
      temperature: request.temperature ?? 0.7,
      seed: request.seed,
      topP: request.top_p,
      maxTokens: request.max_tokens ?? 256,
      trimWhitespaceSuffix: true,
    });
    const used = sequence.tokenMeter.diff(before);
    return {
      id: "chatcmpl-test",
      object: "chat.completion",
      model: request.model,
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: responseText },
          finish_reason: stopReason === "maxTokens" ? "length" : "stop",
        },
      ],
      usage: {
        prompt_tokens: used.usedInputTokens,
        completion_tokens: used.usedOutputTokens,
        total_tokens: used.usedInputTokens + used.usedOutputTokens,
      },
    };
  } finally {
    session.dispose({ disposeSequence: false });
  }
}

async function embed(request) {
  const texts = [request.input].flat();
  const answer = await new Promise((resolve) => {
    waiting.push(resolve);
    embedder.stdin.write(`${JSON.stringify(texts)}\n`);
  });
  return {
    object: "list",
    model: request.model,
    data: answer.vectors.map((embedding, index) => ({ object: "embedding", index, embedding })),
    usage: { prompt_tokens: answer.tokens, total_tokens: answer.tokens },
  };
}

const calls = { "/v1/chat/completions": chat, "/v1/embeddings": embed };
let idle;
const rest = () => {
  clearTimeout(idle);
  idle = setTimeout(() => process.exit(0), 600_000);
};
// The engine has one sequence, so one call runs after the other.
let last = Promise.resolve();

const server = createServer((request, response) => {
  rest();
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece));
  request.on("end", () => {
    const answer = (status, body) => {
      rest();
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(body));
    };
    if (request.url === "/v1/models") return answer(200, { object: "list", data: [{ id: "gemma" }] });
    const call = calls[request.url];
    if (!call) return answer(404, { error: { message: `there is no ${request.url}` } });
    last = last.then(async () => {
      try {
        answer(200, await call(JSON.parse(Buffer.concat(pieces).toString())));
      } catch (error) {
        const status = error instanceof Refused || error instanceof SyntaxError ? 400 : 500;
        answer(status, { error: { message: String(error.message ?? error) } });
      }
    });
  });
});
server.listen(0, "127.0.0.1", async () => {
  rest();
  // Whole or not there: a reader never finds half a number.
  await writeFile(`${portFile}.new`, `${server.address().port}\n`);
  await rename(`${portFile}.new`, portFile);
});
