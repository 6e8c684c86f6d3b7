import { createServer, type Server } from 'node:net';
import { onCleanup } from '../support/cleanup.js';
import { freePort, listenOnLoopback } from '../support/ports.js';

function newServer(): Server {
  const server = createServer();
  onCleanup(() => server.close());
  return server;
}

test('a port that is taken is refused where it is asked for, and another one is drawn where it is not', async () => {
  const port = await freePort();
  await listenOnLoopback(newServer(), port);
  await expect(listenOnLoopback(newServer(), port)).rejects.toMatchObject({ code: 'EADDRINUSE' });
  const busy = newServer();
  let refused = 0;
  const listen = busy.listen.bind(busy);
  // The first draw meets the taken port.
  busy.listen = ((drawn: number, ...rest: never[]) => listen(refused++ === 0 ? port : drawn, ...rest)) as typeof busy.listen;
  await listenOnLoopback(busy);
  expect(refused).toBe(2);
  expect(busy.listening).toBe(true);
});

test('ports are drawn below those of outgoing connections', async () => {
  for (let draw = 0; draw < 20; draw += 1) expect(await freePort()).toBeLessThan(32_768);
});
