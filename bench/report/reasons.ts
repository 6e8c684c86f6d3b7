/** Why a goal is not met, by goal: the rest of the sentence "not met, because …". Written by hand after reading the figures and the profiles. */
export const REASONS: Readonly<Record<string, string>> = {
  P1: 'between the notification and the new agent lie, besides the one exchange that the goal counts, about 4 ms of work in small pieces: limits and time-outs of a list, comparing and hashing it, building the LangGraph agent, writing down what changed. With 300 toolsets LangGraph is handed 5 100 tools, which adds 1 to 2 ms.',
  P2: 'the burst in which 100 toolsets change at once ends in one round that takes over 1 700 new tools; the floor, which only parses, comes near the limit in the same bursts. The counts and the ages are met.',
  P5: 'the limit for a start is missed by the building of the first agent, in which 5 100 tools are bound in one piece by code that has never run before. A swap keeps its limits.',
  P6: 'what the limit compares with is a request and `JSON.parse`; ours also keeps time limits and places, compares the list with the one before, and steps the rounds. In all that is 1 to 2 ms of CPU time per toolset and interval: with 300 toolsets and the default of half an hour, a thousandth of one core.',
  P9: 'CopilotKit’s runtime and langgraph-api do not lie as far behind as the goal asks, because nine tenths of a run are LangChain, LangGraph, the provider’s client and Node, which the same agent in a route written by hand pays as well. Throughput against that route and the first byte are met.',
  P10: 'to send 300 kB takes 0.3 to 0.7 ms even by `node:http` alone on this machine; Express and our headers add 0.2 to 0.4 ms. Clients that take gzip, as browsers do, are sent fewer bytes.',
};
