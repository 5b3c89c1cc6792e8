#!/usr/bin/env node
// Starts the program that npm has installed beside this for the machine at hand.
"use strict";

const { spawn } = require("node:child_process");
const os = require("node:os");

const name = `kelvin-action-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/kelvin`);
} catch {
  console.error(
    `error: npm has installed no program for ${process.platform} on ${process.arch}\n` +
      "  help: there is one for Linux and macOS on x64 and arm64; where npm leaves optional dependencies out " +
      `(--omit=optional), install ${name} too`,
  );
  process.exit(1);
}

const started = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// The program gets what a terminal sends by itself; a signal to this process alone is handed on.
for (const signal of ["SIGTERM", "SIGHUP", "SIGINT"]) {
  process.on(signal, () => started.kill(signal));
}
started.on("error", (error) => {
  console.error(`error: ${program} cannot be started: ${error.message}`);
  process.exit(1);
});
started.on("exit", (code, signal) => process.exit(signal ? 128 + os.constants.signals[signal] : code));
