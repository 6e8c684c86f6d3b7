import { BeatWatch } from '../../src/mcp/beat-watch.js';
import { ManualClock } from '../support/manual-clock.js';

function watch() {
  const clock = new ManualClock();
  let silences = 0;
  const beats = new BeatWatch({
    clock,
    onSilence: () => {
      silences += 1;
    },
  });
  const beat = async (afterMs: number) => {
    await clock.advance(afterMs);
    beats.bytes();
    beats.beat();
  };
  return { clock, beats, beat, silences: () => silences };
}

describe('BeatWatch', () => {
  it('never takes a server without beats for dead', async () => {
    const { clock, beats, silences } = watch();
    beats.bytes();
    await clock.advance(86_400_000);
    expect(silences()).toBe(0);
    expect(clock.pending).toBe(0);
  });

  it('reports the silence after three missed beats, once', async () => {
    const { clock, beat, silences } = watch();
    for (let count = 0; count < 3; count += 1) await beat(15_000);
    await clock.advance(44_900);
    expect(silences()).toBe(0);
    await clock.advance(200);
    expect(silences()).toBe(1);
    await clock.advance(86_400_000);
    expect(silences()).toBe(1);
  });

  it('is not armed by two beats, nor by beats at odd intervals', async () => {
    const { clock, beat, silences } = watch();
    await beat(1_000);
    await beat(1_000);
    await clock.advance(60_000);
    await beat(0);
    await clock.advance(3_600_000);
    expect(silences()).toBe(0);
  });

  it('counts every byte as a sign of life', async () => {
    const { clock, beats, beat, silences } = watch();
    for (let count = 0; count < 3; count += 1) await beat(1_000);
    for (let count = 0; count < 10; count += 1) {
      await clock.advance(2_500);
      beats.bytes();
    }
    expect(silences()).toBe(0);
    await clock.advance(3_100);
    expect(silences()).toBe(1);
  });

  it('takes comments in one piece for one beat', async () => {
    const { clock, beats, beat, silences } = watch();
    await beat(1_000);
    for (let count = 0; count < 5; count += 1) beats.beat();
    await clock.advance(60_000);
    expect(silences()).toBe(0);
  });

  it('says nothing after it was stopped', async () => {
    const { clock, beats, beat, silences } = watch();
    for (let count = 0; count < 3; count += 1) await beat(1_000);
    beats.stop();
    await clock.advance(60_000);
    expect(silences()).toBe(0);
    expect(clock.pending).toBe(0);
  });
});
