import { isJsonObject } from './json.js';

/** The bounds of what a view may declare (CONTRACT.md 14.1). */
const MAX_DOMAINS = 100;
const MAX_DOMAIN_LENGTH = 300;

const LABEL = '[a-z0-9](?:[a-z0-9-]*[a-z0-9])?';
const NAME = `(?:${LABEL}\\.)*${LABEL}`;
/** The scheme, then a host name, `*.` before at least two labels, or an IPv6 address, then perhaps a port. */
const ORIGIN = new RegExp(`^(?:https?|wss)://(?:${NAME}|\\*\\.(?:${LABEL}\\.)+${LABEL}|\\[[0-9a-f:.]+\\])(?::[0-9]{1,5})?/?$`, 'i');

/** The fields of `_meta.ui.csp` with the directives that each of them opens (MCP Apps specification, "Content Security Policy"). */
const FIELDS = {
  connectDomains: ['connect-src'],
  resourceDomains: ['script-src', 'style-src', 'img-src', 'font-src', 'media-src'],
  frameDomains: ['frame-src'],
  baseUriDomains: ['base-uri'],
} as const;

type Directive = (typeof FIELDS)[keyof typeof FIELDS][number];

/** What every view may load without declaring it: what lies in its own page. Nothing of the API's origin is among it (CONTRACT.md 14.3). */
const BASE: Readonly<Record<Directive, string>> = {
  'script-src': "'unsafe-inline'",
  'style-src': "'unsafe-inline'",
  'img-src': 'data: blob:',
  'font-src': 'data:',
  'media-src': 'data: blob:',
  'connect-src': '',
  'frame-src': '',
  'base-uri': '',
};

/**
 * The `Content-Security-Policy` of a view (CONTRACT.md 8.1): a sandbox in which scripts run in an origin of their own, and which may reach the
 * origins that the view's `_meta.ui.csp` declares. Whatever is no origin (`*`, `javascript:`, a path, a quote) is left out.
 */
export function policyOfView(csp: unknown): string {
  const declared = isJsonObject(csp) ? csp : {};
  const opened = new Map<Directive, readonly string[]>();
  for (const [field, directives] of Object.entries(FIELDS)) {
    const origins = originsIn(declared[field]);
    for (const directive of directives) opened.set(directive, origins);
  }
  const directives = Object.entries(BASE).map(([directive, base]) => {
    const sources = [base, ...(opened.get(directive as Directive) ?? [])].filter((source) => source !== '').join(' ');
    return `${directive} ${sources === '' ? "'none'" : sources}`;
  });
  return ['sandbox allow-scripts', "default-src 'none'", ...directives, "form-action 'none'"].join('; ');
}

function originsIn(domains: unknown): readonly string[] {
  if (!Array.isArray(domains)) return [];
  const origins = domains.slice(0, MAX_DOMAINS).flatMap((domain: unknown) => {
    if (typeof domain !== 'string' || domain.length > MAX_DOMAIN_LENGTH || !ORIGIN.test(domain)) return [];
    return [domain.replace(/\/$/, '').toLowerCase()];
  });
  return [...new Set(origins)];
}
