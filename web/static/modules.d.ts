declare module "htmx.org/dist/htmx.esm.js" {
  const htmx: { config: { history: boolean | "reload"; morphIgnore: string[] } };
  export default htmx;
}
declare module "htmx.org/dist/ext/hx-sse.js";
