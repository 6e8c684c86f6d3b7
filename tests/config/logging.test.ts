import { PassThrough } from 'node:stream';
import type { Clock } from '../../src/core/ports.js';
import { createLogger, type LoggerOptions, logOncePer5Minutes } from '../../src/logging.js';

function capture(options: Partial<LoggerOptions> & { isTTY?: boolean } = {}) {
  const stream = Object.assign(new PassThrough(), { isTTY: options.isTTY ?? false });
  let text = '';
  stream.on('data', (chunk) => {
    text += String(chunk);
  });
  const logger = createLogger({ level: 'debug', format: 'json', ...options, stream });
  return { logger, lines: () => text.split('\n').slice(0, -1) };
}

describe('createLogger', () => {
  test('writes one JSON object a line with the time, the level, the message and the fields', () => {
    const { logger, lines } = capture();
    logger.info('agent swapped', { round: 8, generation: 3, trigger: 'notification', toolset: 'kb' });
    logger.warn('toolset failing', { toolset: 'kb', code: 'LIST_INCOMPLETE' });
    const [first, second] = lines().map((line) => JSON.parse(line));
    expect(first).toEqual({
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      level: 'info',
      message: 'agent swapped',
      round: 8,
      generation: 3,
      trigger: 'notification',
      toolset: 'kb',
    });
    expect(second).toMatchObject({ level: 'warn', code: 'LIST_INCOMPLETE' });
  });

  test('a field cannot replace the message or the level of its entry', () => {
    const { logger, lines } = capture();
    logger.error('round aborted', { message: 'forged', level: 'debug' });
    expect(JSON.parse(lines()[0] ?? '')).toMatchObject({ message: 'round aborted', level: 'error' });
  });

  test('an error among the fields is written as its name, code and message, without the stack', () => {
    const { logger, lines } = capture();
    logger.error('build failed', { error: Object.assign(new TypeError('no model'), { code: 'BUILD_FAILED' }) });
    expect(JSON.parse(lines()[0] ?? '').error).toEqual({ name: 'TypeError', code: 'BUILD_FAILED', message: 'no model' });
  });

  test('leaves out what is below its level', () => {
    const { logger, lines } = capture({ level: 'warn' });
    logger.info('toolset watching');
    logger.debug('list');
    logger.error('round aborted');
    expect(lines()).toHaveLength(1);
  });

  test('pretty is one short line, coloured on a terminal only', () => {
    const plain = capture({ format: 'pretty' });
    plain.logger.info('agent swapped', { generation: 3, swapped: ['kb', 'places'], late: [], why: 'two words' });
    expect(plain.lines()).toEqual([
      expect.stringMatching(/^\d\d:\d\d:\d\d\.\d{3} info {2}agent swapped generation=3 swapped=kb,places late=- why="two words"$/),
    ]);
    const terminal = capture({ format: 'pretty', isTTY: true });
    terminal.logger.info('agent swapped');
    expect(terminal.lines()[0]).toContain('\u001b[');
  });

  test('pretty gives an entry with many fields, as the settings at start, a line for each of them', () => {
    const { logger, lines } = capture({ format: 'pretty' });
    logger.info('configuration', Object.fromEntries(Array.from({ length: 25 }, (_, index) => [`SETTING_${index}`, index])));
    expect(lines()).toHaveLength(26);
    expect(lines().slice(0, 2)).toEqual([expect.stringMatching(/info {2}configuration$/), '    SETTING_0=0']);
  });

  test('a toolset cannot forge lines or move the cursor by its name', () => {
    const { logger, lines } = capture({ format: 'pretty' });
    logger.info('toolset watching', { toolset: 'a\nfake\u001b[2J\u009b', server: { name: 'b\r\u001b' } });
    expect(lines()).toHaveLength(1);
    expect(lines()[0]).not.toMatch(/\p{Cc}/u);
  });
});

describe('logOncePer5Minutes', () => {
  const MINUTE = 60_000;

  function repeats() {
    let now = 0;
    const clock: Clock = { now: () => now, date: () => new Date(now), after: () => () => {}, random: () => 0 };
    const { logger, lines } = capture();
    return {
      logger: logOncePer5Minutes(logger, clock),
      entries: () => lines().map((line) => JSON.parse(line)),
      pass: (ms: number) => (now += ms),
    };
  }

  test('a repeat of the same toolset and code is written once per 5 minutes with the count of those left out', () => {
    const { logger, entries, pass } = repeats();
    for (let minute = 0; minute <= 10; minute += 1) {
      logger.warn('toolset failing', { toolset: 'kb', code: 'TOOLSET_UNREACHABLE' });
      pass(MINUTE);
    }
    expect(entries().map((entry) => entry.repeats)).toEqual([undefined, 4, 4]);
  });

  test('another toolset, another code and another message are no repeats', () => {
    const { logger, entries } = repeats();
    logger.warn('toolset failing', { toolset: 'kb', code: 'LIST_TIMEOUT' });
    logger.warn('toolset failing', { toolset: 'places', code: 'LIST_TIMEOUT' });
    logger.warn('toolset failing', { toolset: 'kb', code: 'LIST_MALFORMED' });
    logger.warn('round aborted', { toolset: 'kb', code: 'LIST_TIMEOUT' });
    expect(entries()).toHaveLength(4);
  });

  test('entries without a toolset or a code always pass', () => {
    const { logger, entries } = repeats();
    for (let count = 0; count < 3; count += 1) {
      logger.info('agent swapped', { generation: count });
      logger.info('toolset watching', { toolset: 'kb' });
    }
    expect(entries()).toHaveLength(6);
  });

  test('a toolset that fails again after it recovered is written again: that is a change of state', () => {
    const { logger, entries } = repeats();
    for (let count = 0; count < 2; count += 1) {
      logger.warn('toolset failing', { toolset: 'kb', code: 'LIST_TIMEOUT' });
      logger.warn('toolset failing', { toolset: 'places', code: 'LIST_TIMEOUT' });
      logger.info('toolset watching', { toolset: 'kb' });
    }
    expect(entries().map((entry) => `${entry.message} ${entry.toolset}`)).toEqual([
      'toolset failing kb',
      'toolset failing places',
      'toolset watching kb',
      'toolset failing kb',
      'toolset watching kb',
    ]);
  });
});
