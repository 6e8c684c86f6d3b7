import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import { type RequestHandler, type Response, Router } from 'express';
import { Problem } from './problem.js';

/**
 * What the page may load and whom it may ask: its own origin and nothing else. Views are framed from there too; their own policy puts them into
 * an origin of their own (CONTRACT.md 8.1).
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * The policy of the frame into which the page writes a view that it had to fetch with a token. It allows what
 * the policy of any view may allow. The page then writes the view's own policy, which allows less, before the view itself. The sandbox gives the frame an
 * origin of its own in any case.
 */
const FRAME_POLICY = [
  'sandbox allow-scripts',
  "default-src 'none'",
  "script-src 'unsafe-inline' http: https:",
  "style-src 'unsafe-inline' http: https:",
  'img-src data: blob: http: https:',
  'font-src data: http: https:',
  'media-src data: blob: http: https:',
  'connect-src http: https: ws: wss:',
  'frame-src http: https:',
  'base-uri http: https:',
  "form-action 'none'",
  "frame-ancestors 'self'",
].join('; ');

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

interface PageFile {
  readonly plain: Buffer;
  readonly gzipped: Buffer;
  readonly type: string;
}

/** A path segment arrives decoded, so that a name could lead out of the folder; these cannot. */
const NAME = /^(?:assets\/)?[A-Za-z0-9][\w.-]*$/;

interface Delivery {
  readonly caching: string;
  /** The page's own unless given. */
  readonly policy?: string;
}

const compress = promisify(gzip);

/**
 * Serves the built page from a folder: its document at the router's own path, everything else below `assets/` (CONTRACT.md 10). The files need
 * no token; what the page asks the API for does. Each file is read and compressed once.
 */
export function pageRouter(folder: string): Router {
  const files = new Map<string, Promise<PageFile>>();
  const fileAt = (name: string): Promise<PageFile> => {
    const known = files.get(name);
    if (known !== undefined) return known;
    const file = loadFile(folder, name);
    files.set(name, file);
    // A file that could not be read is looked for again the next time.
    file.catch(() => files.delete(name));
    return file;
  };
  const serve =
    (nameOf: (params: Record<string, unknown>) => string, { caching, policy = POLICY }: Delivery): RequestHandler =>
    async (req, res) => {
      const file = await fileAt(nameOf(req.params));
      res.setHeader('content-security-policy', policy);
      res.setHeader('cache-control', caching);
      sendFile(res, file, req.acceptsEncodings('gzip', 'identity') === 'gzip');
    };

  const router = Router();
  // The page's addresses are relative to its own, so that it works below any path; that takes a slash at the end of that path.
  router.get('/', (req, res, next) => {
    const [path = '', query] = req.originalUrl.split('?');
    if (path.endsWith('/')) next();
    else res.redirect(308, `${path.slice(path.lastIndexOf('/') + 1)}/${query === undefined ? '' : `?${query}`}`);
  });
  router.get(
    '/',
    serve(() => 'index.html', { caching: 'no-cache' }),
  );
  router.get(
    '/view-frame.html',
    serve(() => 'view-frame.html', { caching: 'no-cache', policy: FRAME_POLICY }),
  );
  router.get(
    '/icon.svg',
    serve(() => 'icon.svg', { caching: 'public, max-age=3600' }),
  );
  // The names of these files change with their content.
  router.get(
    '/assets/:name',
    serve(({ name }) => `assets/${name}`, { caching: 'public, max-age=31536000, immutable' }),
  );
  return router;
}

async function loadFile(folder: string, name: string): Promise<PageFile> {
  const type = TYPES[extname(name)];
  if (type === undefined || !NAME.test(name)) throw noSuchFile();
  const plain = await readFile(join(folder, name)).catch(() => {
    // Whatever keeps the file from being read, for the browser there is none.
    throw name === 'index.html' ? new Problem(404, 'not_found', 'The page is not built; npm run build makes it.') : noSuchFile();
  });
  return { plain, type, gzipped: await compress(plain, { level: constants.Z_BEST_COMPRESSION }) };
}

function noSuchFile(): Problem {
  return new Problem(404, 'not_found', 'The page has no such file.');
}

function sendFile(res: Response, { plain, gzipped, type }: PageFile, gzips: boolean): void {
  res.setHeader('x-content-type-options', 'nosniff');
  res.setHeader('referrer-policy', 'no-referrer');
  res.vary('accept-encoding');
  res.setHeader('content-type', type);
  if (gzips) res.setHeader('content-encoding', 'gzip');
  res.end(gzips ? gzipped : plain);
}
