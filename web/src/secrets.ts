import { Store } from './store.js';

/** What somebody has entered. It lives in this page's memory only and is gone with the tab. */
export interface Secrets {
  /** The bearer token of CONTRACT.md 9.1; empty where none is needed. */
  readonly token: string;
  /** The values of credential headers that toolsets declared, by lower-case header name. */
  readonly credentials: Readonly<Record<string, string>>;
}

/** Why a token is asked for: the API wants one at all, or an action wants the administrator's. */
export type TokenRequest = 'none' | 'api' | 'admin';

export const secrets = new Store<Secrets>({ token: '', credentials: {} });
export const tokenRequest = new Store<TokenRequest>('none');

export function setToken(token: string): void {
  secrets.set({ ...secrets.get(), token });
  tokenRequest.set('none');
}

/** An empty value removes the header. */
export function setCredential(header: string, value: string): void {
  const { [header]: _, ...others } = secrets.get().credentials;
  secrets.set({ ...secrets.get(), credentials: value === '' ? others : { ...others, [header]: value } });
}

export function authorization(): Record<string, string> {
  const { token } = secrets.get();
  return token === '' ? {} : { authorization: `Bearer ${token}` };
}

/** For runs: the token, and what the user entered for toolsets. */
export function runHeaders(): Record<string, string> {
  return { ...secrets.get().credentials, ...authorization() };
}
