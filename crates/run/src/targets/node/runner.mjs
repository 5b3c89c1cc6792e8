// Serves one function of a JavaScript module to kelvin: JSON-RPC 2.0, one message a line.
//
// Kelvin starts it as `node --input-type=module -e THIS_TEXT -- FOLDER FILE:NAME`. Messages come on descriptor 4 and answers go
// to descriptor 3, so nothing that the function prints or reads can reach them. It needs Node 18 and nothing else.
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [folder, address] = process.argv.slice(-2);
const colon = address.lastIndexOf(":");
const [file, name] = [address.slice(0, colon), address.slice(colon + 1)];

let decide = null;
let way = null;

function say(message) {
  const bytes = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
  for (let sent = 0; sent < bytes.length; ) {
    sent += fs.writeSync(3, bytes, sent);
  }
}

class Refused extends Error {}

// A module, and the function or the object in it that is called.
async function find() {
  let module;
  try {
    module = await import(pathToFileURL(path.resolve(folder, file)));
  } catch (error) {
    console.error(error);
    throw new Refused(`importing \`${file}\` failed: ${said(error)}`);
  }
  const found = module[name];
  if (typeof found !== "function") {
    const names = Object.keys(module).filter((key) => typeof module[key] === "function");
    const what = name in module ? "is no function" : "is not exported";
    throw new Refused(`\`${name}\` ${what} in \`${file}\`; it exports: ${names.join(", ") || "nothing to call"}`);
  }
  return found;
}

function said(error) {
  if (error instanceof Refused) {
    return error.message;
  }
  const text = String(error?.message ?? error).trim().split("\n")[0].slice(0, 300);
  return error instanceof Error ? `${error.name}: ${text}` : text;
}

function failure(error) {
  if (!(error instanceof Refused)) {
    console.error(error);
  }
  return { code: 1, message: said(error) };
}

// What a function returned as a value for JSON: one that is no object or list is the decision.
function output(result) {
  // An answer of the AI SDK: that of generateObject has an object, and that of generateText a text.
  if (result !== null && typeof result === "object" && "finishReason" in result) {
    result = "object" in result ? result.object : result.text;
  }
  const value = JSON.parse(JSON.stringify(result ?? null, plain) ?? "null");
  return value !== null && typeof value === "object" ? value : { decision: value };
}

function plain(key, value) {
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new Refused("the function returned a number that JSON does not know: NaN or Infinity");
  }
  if (typeof value === "function" || typeof value === "symbol") {
    throw new Refused(`the function returned a ${typeof value}, which JSON does not know`);
  }
  if (value instanceof Map) {
    return Object.fromEntries(value);
  }
  return value instanceof Set ? [...value] : value;
}

// What a function gets beside an input: the file that holds it, or the conversation that it is a turn of.
function beside({ input_path: path, conversation_id, turn }) {
  return conversation_id === undefined ? { path } : { conversation_id, turn };
}

// The answers to a list, each with its call or with an error of its own.
async function list(calls) {
  const inputs = calls.map((one) => one.input);
  const answers = await decide(inputs, { paths: calls.map((one) => one.input_path) });
  if (!Array.isArray(answers) || answers.length !== calls.length) {
    const found = Array.isArray(answers) ? `${answers.length} of them` : typeof answers;
    const text = `\`${address}\` got a list of ${calls.length} inputs, and returned no list of as many answers: found ${found}`;
    const error = { code: 1, message: text };
    return calls.map((one) => ({ call: one.call, error }));
  }
  return calls.map((one, at) => {
    try {
      if (answers[at] instanceof Error) {
        throw answers[at];
      }
      return { call: one.call, result: output(answers[at]) };
    } catch (error) {
      return { call: one.call, error: failure(error) };
    }
  });
}

async function answer({ method, params }) {
  switch (method) {
    case "initialize":
      decide = await find();
      way = ["batch", "concurrency"].find((key) => params[key] > 1);
      return { protocol: 1, ...(way && { [way]: params[way] }) };
    case "assess": {
      if (way !== "batch") {
        return output(await decide(params.input, beside(params)));
      }
      const [only] = await list([params]);
      if (only.error) {
        throw new Refused(only.error.message);
      }
      return only.result;
    }
    case "assess_batch":
      return list(params.calls);
    default:
      throw new Refused(`unknown method: ${method}`);
  }
}

async function handle(line) {
  const message = JSON.parse(line);
  if (message.method === "shutdown") {
    process.exit(0);
  }
  try {
    const result = await answer(message);
    say({ id: message.id, result });
  } catch (error) {
    say({ id: message.id, error: failure(error) });
  }
}

let begun = "";
const questions = new net.Socket({ fd: 4, readable: true, writable: false });
questions.setEncoding("utf8");
questions.on("data", (text) => {
  begun += text;
  const lines = begun.split("\n");
  begun = lines.pop();
  lines.forEach(handle);
});
questions.on("end", () => process.exit(0));
