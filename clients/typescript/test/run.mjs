// Builds the package, packs it, installs what was packed into a project of its own, and runs the tests there.
//
//     node test/run.mjs path/to/tiller

import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const scratch = join(here, "scratch");
const tiller = resolve(process.argv[2] ?? "tiller");
const run = (program, args, cwd) => execFileSync(program, args, { cwd, stdio: ["ignore", "pipe", "inherit"], encoding: "utf8" });
const tsc = join(here, "node_modules", "typescript", "bin", "tsc");
const npm = process.platform === "win32" ? "npm.cmd" : "npm";

for (const made of ["dist", "scratch"]) rmSync(join(here, made), { recursive: true, force: true });
mkdirSync(scratch);
run(process.execPath, [tsc], here);
const [packed] = JSON.parse(run(npm, ["pack", "--json", "--ignore-scripts", "--pack-destination", scratch], here));
const files = packed.files.map((file) => file.path);
for (const wanted of ["dist/index.js", "dist/index.d.ts", "README.md", "package.json"]) {
  if (!files.includes(wanted)) throw new Error(`${wanted} is not in the package: ${files.join(", ")}`);
}
const strange = files.filter((file) => !/^(dist\/.*\.(js|d\.ts)|README\.md|package\.json)$/.test(file));
if (strange.length > 0) throw new Error(`${strange.join(", ")} should not be in the package`);

writeFileSync(join(scratch, "package.json"), '{ "name": "scratch", "private": true, "type": "module" }\n');
const quiet = ["--offline", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
run(npm, ["install", ...quiet, `./${packed.filename}`], scratch);
// The tests alone need these; the package has no dependencies.
for (const name of ["@types", "undici-types"]) cpSync(join(here, "node_modules", name), join(scratch, "node_modules", name), { recursive: true });
for (const name of ["agents.test.ts", "swarm.test.ts", "tiller.test.ts", "model-server.ts", "fake-agent.mjs", "tsconfig.json"]) cpSync(join(here, "test", name), join(scratch, name));
cpSync(join(here, "examples", "dashboard.ts"), join(scratch, "dashboard.ts"));
run(process.execPath, [tsc, "-p", "tsconfig.json"], scratch);
const tests = ["agents", "swarm", "tiller"].map((name) => join(scratch, "made", `${name}.test.js`));
const env = { ...process.env, TILLER: tiller };
const { status } = spawnSync(process.execPath, ["--test", "--test-reporter=dot", ...tests], { cwd: scratch, env, stdio: "inherit" });
if (status !== 0) process.exit(1);
console.log(`native typescript client: ${packed.filename} is right`);
