#!/usr/bin/env node
// Starts the program of this platform's package, in place of this process where Node can do that,
// so that nothing stands between an editor and the agent.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const platformPackage = `@PACKAGE@-${process.platform}-${process.arch}`;

let program;
try {
  program = require.resolve(`${platformPackage}/bin/tiller`);
} catch {
  console.error(
    `tiller: the package ${platformPackage} is not installed. It is an optional dependency of ` +
      "@PACKAGE@: install again without --omit=optional. If npm finds no such package, there is no " +
      "build for this platform.",
  );
  process.exit(1);
}

const args = process.argv.slice(2);
if (typeof process.execve === "function") {
  try {
    process.execve(program, [program, ...args], process.env);
  } catch {
    // Worker threads and some systems cannot; the program then runs as a child.
  }
}

const child = spawn(program, args, { stdio: "inherit" });
child.on("error", (error) => {
  console.error(`tiller: ${program} cannot be started: ${error.message}`);
  process.exit(1);
});
for (const signal of ["SIGTERM", "SIGHUP", "SIGINT"]) {
  process.on(signal, () => {
    // A terminal sends an interrupt to the child too; a second one would mean "at once".
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  });
}
child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
