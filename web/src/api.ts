import { authorization, tokenRequest } from './secrets.js';

/** An answer of the API that is no success. */
export class ApiProblem extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, { code, detail }: { readonly code?: string; readonly detail?: unknown }) {
    super(typeof detail === 'string' ? detail : `The API answered ${status}${code === undefined ? '' : ` (${code})`}.`);
    this.status = status;
    this.code = code ?? `status_${status}`;
  }
}

/** The address of a route; the API lies where the page lies. */
export function address(path: string): string {
  return new URL(path, document.baseURI).href;
}

export interface Asking {
  readonly method?: 'GET' | 'POST';
  /** Whom the route wants: with `admin`, a refusal asks for the administrator's token. */
  readonly as?: 'user' | 'admin';
  readonly signal?: AbortSignal;
}

/** Asks the API. Throws an {@link ApiProblem} for any answer but a success; one of 401 also makes the page ask for a token. */
export async function ask(path: string, { method = 'GET', as = 'user', signal }: Asking = {}): Promise<Response> {
  const answer = await fetch(address(path), { method, headers: authorization(), signal });
  if (answer.ok) return answer;
  const problem = new ApiProblem(answer.status, await bodyOf(answer));
  if (answer.status === 401) tokenRequest.set(as === 'admin' ? 'admin' : 'api');
  throw problem;
}

export async function askJson<T>(path: string, asking: Asking = {}): Promise<T> {
  return (await ask(path, asking)).json() as Promise<T>;
}

async function bodyOf(answer: Response): Promise<{ code?: string; detail?: unknown }> {
  try {
    return await answer.json();
  } catch {
    // A proxy on the way may answer with something else; then the status says it all.
    return {};
  }
}
