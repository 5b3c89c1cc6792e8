// A function that reads the rules of a request and asks a model of the AI SDK to decide by them.

import { generateText } from "ai";
import { MockLanguageModelV2 } from "ai/test";

const GOVERNING = ["release rule", "verification record"];

const model = new MockLanguageModelV2({
  doGenerate: async ({ prompt }) => {
    const asked = prompt.at(-1).content.map((part) => part.text).join("");
    const sum = [...asked].reduce((sum, letter) => sum + letter.codePointAt(0), 0) % 97;
    return {
      finishReason: "stop",
      usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
      content: [{ type: "text", text: String(sum) }],
      warnings: [],
    };
  },
});

export function decide(input) {
  const units = input.split(/^## /m).slice(1).map((unit) => unit.trim());
  const read = units.filter((unit) => GOVERNING.some((type) => unit.toLowerCase().startsWith(type))).sort();
  return generateText({ model, prompt: read.join("\n") || "nothing" });
}
