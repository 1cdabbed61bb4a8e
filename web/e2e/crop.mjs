import { chromium } from "playwright-core";
import { readFileSync } from "node:fs";
const [,, file, out, y, h, w] = process.argv;
const b = await chromium.launch({executablePath:"/usr/bin/chromium",args:["--no-sandbox"]});
const p = await b.newPage({viewport:{width:+w||780,height:+h}});
await p.setContent(`<body style="margin:0"><img style="margin-top:-${y}px" src="data:image/png;base64,${readFileSync(file).toString("base64")}">`);
await p.screenshot({path:out}); await b.close();
