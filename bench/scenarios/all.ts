import type { Scenario } from '../harness/scenario.js';
import { exact } from './p3-exact.js';
import { runs } from './p9-runs.js';

/** Every scenario, in the order of the goals: one line each. */
export const SCENARIOS: readonly Scenario[] = [
  exact, // P3
  runs, // P9
];
