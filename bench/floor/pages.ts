import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerCommands, liveWithParent } from '../harness/commands.js';

/** The floor of a view: a `node:http` server that sends the same bytes with an `ETag`, and 304 where the client has them. */
answerCommands({
  async start({ body, etag }: { body: string; etag: string }) {
    const bytes = Buffer.from(body, 'utf8');
    const server = createServer((request, response) => {
      if (request.headers['if-none-match'] === etag) {
        response.writeHead(304, { etag }).end();
        return;
      }
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'content-length': bytes.byteLength, etag }).end(bytes);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
  },
});
liveWithParent();
