// Bundles the scripts and the stylesheet into web/static/dist under content-hashed names, compressed beforehand, with a
// manifest that the Go side reads. The same sources and packages give the same bytes.
import { build } from "esbuild";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const sources = join(here, "static");
const dist = join(sources, "dist");

mkdirSync(dist, { recursive: true });
for (const name of readdirSync(dist)) if (name !== ".gitkeep") rmSync(join(dist, name));

const result = await build({
  absWorkingDir: here,
  entryPoints: [join(sources, "app.ts"), join(sources, "app.css"), join(sources, "favicon.svg")],
  outdir: dist,
  entryNames: "[name]-[hash]",
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022", "chrome123", "firefox121", "safari17.5"],
  loader: { ".svg": "copy" },
  legalComments: "none",
  metafile: true,
  logLevel: "warning",
});

// The licences of what is bundled go with it.
const packages = new Set();
for (const input of Object.keys(result.metafile.inputs)) {
  const [, name] = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input) ?? [];
  if (name) packages.add(name);
}
const notices = [...packages].sort().map((name) => {
  const dir = join(here, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(dir, "package.json"), "utf8"));
  const file = readdirSync(dir).find((f) => /^licen[cs]e/i.test(f));
  return `${name} ${version} (${license})\n\n${file ? readFileSync(join(dir, file), "utf8") : ""}`;
});
writeFileSync(join(dist, "NOTICE.txt"), notices.join("\n\n"));

const manifest = {};
for (const [out, { entryPoint }] of Object.entries(result.metafile.outputs)) {
  const file = join(here, out);
  const body = readFileSync(file);
  const plain = entryPoint ? basename(entryPoint).replace(/\.ts$/, ".js") : `favicon${extname(out)}`;
  manifest[plain] = basename(out);
  const gzip = gzipSync(body, { level: 9 });
  const brotli = brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } });
  if (gzip.length < body.length) writeFileSync(`${file}.gz`, gzip);
  if (brotli.length < body.length) writeFileSync(`${file}.br`, brotli);
  console.log(`${basename(out)}  ${body.length} bytes, ${gzip.length} gz, ${brotli.length} br`);
}
writeFileSync(join(dist, "manifest.json"), JSON.stringify(manifest, Object.keys(manifest).sort(), 2) + "\n");
