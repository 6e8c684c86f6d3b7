import type { Scenario } from '../harness/scenario.js';
import { fresh } from './p1-fresh.js';
import { starve } from './p2-starve.js';
import { exact } from './p3-exact.js';
import { recover } from './p4-recover.js';
import { swap } from './p5-swap.js';
import { polling } from './p6-poll.js';
import { start } from './p7-start.js';
import { memory } from './p8-memory.js';
import { runs } from './p9-runs.js';
import { identity } from './p10-identity.js';
import { growth } from './p11-growth.js';

/** Every scenario, in the order of the goals: one line each. */
export const SCENARIOS: readonly Scenario[] = [
  fresh, // P1
  starve, // P2
  exact, // P3
  recover, // P4
  swap, // P5
  polling, // P6
  start, // P7
  memory, // P8
  runs, // P9
  identity, // P10
  growth, // P11
];
