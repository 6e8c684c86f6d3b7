/** Why a goal is not met, by goal: the rest of the sentence "not met, because …". Written by hand after reading the figures and the profiles. */
export const REASONS: Readonly<Record<string, string>> = {};
