// Starts the playground for the tests: a real broker, a real store, real consumers and the dashboard's own program.
import { spawn } from "node:child_process";
import { mkdtempSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build, patience, results, root } from "./demo.mjs";

/** Builds and starts the playground with these pipelines and knobs, and returns when it is open. */
export async function startPlayground({ only, knobs }) {
  const dir = mkdtempSync(join(tmpdir(), "dedup-playground-"));
  const bin = join(root, "bin");
  mkdirSync(results, { recursive: true });
  build("./cmd/dashboard", "./cmd/playground");
  // It ends by itself if the tests are killed.
  const args = ["-dir", dir, "-dashboard", join(bin, "dashboard"), "-listen", "127.0.0.1:0", "-duration", "30m", "-only", only.join()];
  const child = spawn(join(bin, "playground"), [...args, ...knobs.flatMap((knob) => ["-set", knob])], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.once("exit", resolve).once("error", resolve));
  const stop = async () => {
    child.kill("SIGINT");
    await ended;
    rmSync(dir, { recursive: true, force: true });
  };
  let opened;
  try {
    opened = await opening(child);
  } catch (error) {
    await stop();
    throw error;
  }
  const [ledger, url, setup] = opened;
  return {
    url,
    setup,
    /** Returns what truly happened in a pipeline. */
    truth: async (pipeline) => (await (await fetch(ledger)).json()).pipelines[pipeline],
    /** Sends commands to the logical database of a pipeline's markers, and returns the last answer's first line. */
    redis: (pipeline, ...commands) => redis(databaseOf(dir, pipeline), commands),
    stop,
  };
}

/** Reads the three addresses that the playground prints while it opens. */
function opening(child) {
  const wanted = [/^==> The truth, to compare with: ([^\s;]+)[;\n]/m, /^Dashboard: (\S+)$/m, /^Make the first admin .*: (\S+)$/m];
  return new Promise((resolve, reject) => {
    let text = "";
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`the playground ended with ${code}: ${text}`)));
    child.stdout.on("data", (chunk) => {
      text += chunk;
      const found = wanted.map((pattern) => pattern.exec(text)?.[1]);
      if (found.every(Boolean)) resolve(found);
    });
  });
}

/** Returns port and number of a pipeline's database from the configuration that the playground wrote. */
function databaseOf(dir, pipeline) {
  const text = readFileSync(join(dir, "dashboard.yaml"), "utf8");
  const [, port, db] = new RegExp(`name: ${pipeline}, preset: \\S+, redis: {url: "redis://[^"]*:(\\d+)/(\\d+)"}`).exec(text);
  return { port: Number(port), db };
}

function redis({ port, db }, commands) {
  return new Promise((resolve, reject) => {
    const all = [`SELECT ${db}`, ...commands, "QUIT"];
    const socket = connect(port, "127.0.0.1", () => socket.write(all.map((c) => c + "\r\n").join("")));
    let text = "";
    socket.setTimeout(patience, () => socket.destroy(new Error("Redis does not answer")));
    socket.on("data", (chunk) => (text += chunk));
    socket.on("error", reject);
    socket.on("end", () => {
      const answers = text.trim().split("\r\n");
      if (answers.some((a) => a.startsWith("-"))) reject(new Error(text));
      else resolve(answers.at(-2));
    });
  });
}
