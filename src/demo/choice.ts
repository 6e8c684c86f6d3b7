import { type Word, wordsOf } from './words.js';

/** A tool as the model is shown it. */
export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly parameters: { readonly [key: string]: unknown };
}

export interface ToolChoice {
  readonly tool: OfferedTool;
  readonly args: Readonly<Record<string, string | number>>;
}

// A word of the name says more about a tool than a word of its description.
const NAME_WEIGHT = 2;
const DESCRIPTION_WEIGHT = 1;
// "Find", "search" and the like stand in most questions and most names, so they only decide between tools that fit anyway.
const VERB_WEIGHT = 0.25;
const LEAST_SCORE = 1;
const COMMON_VERBS = new Set('answer ask check fetch find get give help list look read return search see show'.split(' '));

/**
 * Picks the tool whose name and description share most words with the question, and fills its arguments from the question.
 * Undefined when no tool shares a word that counts. The same question and tools always give the same choice.
 */
export function chooseTool(question: string, tools: readonly OfferedTool[]): ToolChoice | undefined {
  const words = wordsOf(question);
  const ranked = tools
    .map((tool) => ({ tool, known: weightsOf(tool) }))
    .map(({ tool, known }) => ({ tool, known, score: scoreOf(words, known) }))
    .filter(({ score }) => score >= LEAST_SCORE)
    // Of two tools that fit equally well, the one with fewer other words is the closer one.
    .sort((a, b) => b.score - a.score || a.known.size - b.known.size || (a.tool.name < b.tool.name ? -1 : 1));
  const best = ranked[0];
  if (best === undefined) return undefined;
  return { tool: best.tool, args: fillArguments(question, words, best) };
}

function weightsOf(tool: OfferedTool): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const [text, weight] of [
    [tool.description, DESCRIPTION_WEIGHT],
    [tool.name, NAME_WEIGHT],
  ] as const) {
    for (const { stem, isStop } of wordsOf(text)) {
      if (!isStop) weights.set(stem, COMMON_VERBS.has(stem) ? VERB_WEIGHT : weight);
    }
  }
  return weights;
}

function scoreOf(words: readonly Word[], known: ReadonlyMap<string, number>): number {
  const stems = new Set(words.filter((word) => !word.isStop).map((word) => word.stem));
  return [...stems].reduce((sum, stem) => sum + (known.get(stem) ?? 0), 0);
}

type Property = { readonly type?: unknown; readonly enum?: unknown; readonly default?: unknown };

const WHOLE_QUESTION = /query|question|prompt|search|text|message/i;

/**
 * Fills the string parameters that the tool requires (or its first one, when it requires none), and numbers that the
 * question holds. Other optional parameters are left out.
 */
function fillArguments(question: string, words: readonly Word[], best: { tool: OfferedTool; known: ReadonlyMap<string, number> }) {
  const { properties, required } = parametersOf(best.tool);
  const numbers = words.filter((word) => /^\d+$/.test(word.text)).map((word) => Number(word.text));
  const args: Record<string, string | number> = {};
  const strings = Object.keys(properties).filter((name) => properties[name]?.type === 'string');
  const asked = strings.some((name) => required.has(name)) ? strings.filter((name) => required.has(name)) : strings.slice(0, 1);
  for (const name of asked) args[name] = stringFor({ name, property: properties[name] ?? {}, question, words, known: best.known });
  for (const [name, property] of Object.entries(properties)) {
    if (property.type !== 'number' && property.type !== 'integer') continue;
    const value = numbers.shift() ?? (required.has(name) ? 1 : undefined);
    if (value !== undefined) args[name] = value;
  }
  return args;
}

function parametersOf(tool: OfferedTool): { properties: Record<string, Property>; required: ReadonlySet<unknown> } {
  const { properties, required } = tool.parameters;
  const entries = typeof properties === 'object' && properties !== null ? Object.entries(properties) : [];
  const usable = entries.filter((entry): entry is [string, Property] => typeof entry[1] === 'object' && entry[1] !== null);
  return { properties: Object.fromEntries(usable), required: new Set(Array.isArray(required) ? required : []) };
}

interface Blank {
  readonly name: string;
  readonly property: Property;
  readonly question: string;
  readonly words: readonly Word[];
  readonly known: ReadonlyMap<string, number>;
}

function stringFor({ name, property, question, words, known }: Blank): string {
  if (Array.isArray(property.enum)) {
    const options = property.enum.filter((option) => typeof option === 'string');
    const stems = new Set(words.map((word) => word.stem));
    const named = options.find((option) => wordsOf(option).some(({ stem }) => stems.has(stem)));
    if (options[0] !== undefined) return named ?? options[0];
  }
  if (WHOLE_QUESTION.test(name)) return question.trim();
  const quoted = /["“”«»„]([^"“”«»„]+)["“”«»„]/.exec(question)?.[1];
  if (quoted !== undefined) return quoted.trim();
  // What the tool's own words do not cover is what the question is about: "Where is Lisbon?" leaves "Lisbon".
  const rest = words.filter((word) => !word.isStop && !known.has(word.stem) && !/^\d+$/.test(word.text)).map((word) => word.text);
  return rest.length > 0 ? rest.join(' ') : question.trim();
}
