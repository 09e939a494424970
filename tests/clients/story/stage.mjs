// What every client's story stands on: a home and projects in a temporary folder, checks that end the story, bounded waits.

import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

export const FILE = "src/greet.sh";
export const PROMPT = 'replace "Helo" with "Hello" in src/greet.sh then run sh test.sh';
export const SAVED = 'greet() {\n    echo "Helo, $1!"\n}\n';
export const EXPECTED = SAVED.replace("Helo", "Hello");
/** What `test.sh` prints when the edit was made. */
export const PASSED = "passed in the project";
const TEST = `. ./src/greet.sh\ntest "$(greet editor)" = "Hello, editor!" && echo ${PASSED}\n`;
/** A prompt whose command says that it has begun by making the file \`started\`, and then runs for a minute. */
export const LONG = "run `touch started && sleep 60`";
/** Seconds; longer than anything here takes on a busy machine, shorter than the command of LONG. */
export const PATIENCE = 45;

/** Ends the story with a message where something is not as it should be. */
export function expect(holds, message) {
  if (!holds) throw new Error(message);
}

/** The value of a promise, or an error that names what was waited for. */
export function within(promise, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${PATIENCE} s for ${what}`)), PATIENCE * 1000);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Resolves once the condition holds; looks twenty times a second. */
export function until(condition, what) {
  let timer;
  const held = new Promise((done) => {
    timer = setInterval(() => condition() && done(), 50);
  });
  return within(held, what).finally(() => clearInterval(timer));
}

/** Notes that the client showed something to its user: `diff`, `plan`, `reason`, … Goes into the table of clients. */
export function shown(...what) {
  if (process.env.TILLER_SHOWN) appendFileSync(process.env.TILLER_SHOWN, what.join("\n") + "\n");
}

/** A temporary folder with the agent's home and projects. */
export class Stage {
  constructor(tiller) {
    this.tiller = resolve(tiller);
    this.folder = realpathSync(mkdtempSync(join(tmpdir(), "tiller-client-")));
    this.home = join(this.folder, "home");
    mkdirSync(this.home);
    // The pilot is the default where nothing else is found, so nothing of this machine is looked for.
    writeFileSync(join(this.home, "config.toml"), "[providers.local]\ndiscover = false\n");
    const { TILLER_SHOWN: _, ...inherited } = process.env;
    this.env = { ...inherited, HOME: this.home, TILLER_HOME: this.home };
  }

  /** A fresh project with a mistake in FILE and a test that finds it. */
  project(name) {
    const root = join(this.folder, name);
    mkdirSync(join(root, "src"), { recursive: true });
    writeFileSync(join(root, FILE), SAVED);
    writeFileSync(join(root, "test.sh"), TEST);
    return root;
  }

  /** Adds settings, as TOML. */
  configure(settings) {
    appendFileSync(join(this.home, "config.toml"), settings);
  }

  remove() {
    // The program may still be writing while it ends.
    for (let left = 20; left >= 0; left -= 1) {
      try {
        return rmSync(this.folder, { recursive: true, force: true, maxRetries: 10 });
      } catch (error) {
        if (left === 0) throw error;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
      }
    }
  }
}

/** The text of FILE in a project. */
export const text = (root) => readFileSync(join(root, FILE), "utf8");

/** Whether a file is there. */
export const there = (root, name) => existsSync(join(root, name));

/** Plays the stories one after the other, each on a stage of its own; ends the process with 1 where one failed. */
export async function play(client, stories) {
  const tiller = process.argv[2];
  if (!tiller) {
    console.error(`usage: node ${process.argv[1]} path/to/tiller`);
    process.exit(2);
  }
  for (const [name, story] of Object.entries(stories)) {
    const stage = new Stage(tiller);
    try {
      await within(story(stage), `the story "${name}"`);
      console.log(`${client}: ${name}: all as it should be`);
    } catch (error) {
      console.error(`${client}: ${name}: ${error.stack ?? error}`);
      process.exitCode = 1;
    } finally {
      stage.remove();
    }
  }
  // Clients may leave handles open that would keep Node alive.
  process.exit(process.exitCode ?? 0);
}
