import { until } from '../support/until.js';

/** A page with these words in it. */
export function page(words: string): string {
  return `<!doctype html><title>view</title><script>document.title = ${JSON.stringify(words)}</script>`;
}

/** A tool that shows its result in a view. */
export function viewTool(name: string, meta: Record<string, unknown>) {
  return { name, description: `Shows ${name}.`, inputSchema: { type: 'object', properties: {} }, _meta: meta };
}

export interface ViewAnswer {
  readonly status: number;
  readonly text: string;
  readonly hash: string | undefined;
  readonly policy: string;
  readonly headers: Headers;
}

/** `GET /views/{toolset}/{view}`. */
export async function getView(
  fleet: { readonly baseUrl: string },
  path: string,
  headers: Record<string, string> = {},
): Promise<ViewAnswer> {
  const response = await fetch(`${fleet.baseUrl}/views/${path}`, { headers });
  return {
    status: response.status,
    text: await response.text(),
    hash: response.headers.get('etag')?.replaceAll('"', ''),
    policy: response.headers.get('content-security-policy') ?? '',
    headers: response.headers,
  };
}

/** Waits until the view is served with this text. */
export async function untilView(fleet: { readonly baseUrl: string }, path: string, text: string): Promise<ViewAnswer> {
  return until(
    async () => {
      const view = await getView(fleet, path);
      if (view.text !== text) throw new Error(`It is ${view.status}: ${view.text}`);
      return view;
    },
    { what: `${path} to be ${text}` },
  );
}
