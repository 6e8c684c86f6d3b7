import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stemsOf } from '../words.js';

/** One `##` section of a document. */
export interface Section {
  /** The document's file name without its ending, for example `manual`. */
  readonly document: string;
  readonly title: string;
  readonly text: string;
}

/** The `##` sections of Markdown files in `dataDir`, in their order. */
export function readSections(dataDir: string, files: readonly string[]): readonly Section[] {
  return files.flatMap((file) => {
    const document = file.replace(/\.md$/, '');
    const [, ...parts] = readFileSync(join(dataDir, file), 'utf8').split(/^## /m);
    return parts.map((part) => {
      const [title = '', ...lines] = part.split('\n');
      return { document, title: title.trim(), text: lines.join('\n').trim() };
    });
  });
}

const MOST_RESULTS = 2;
const TITLE_WEIGHT = 3;

/**
 * The sections that fit the query best, at most two. A query that names a document ("the announcements") searches that document only;
 * when it says nothing else that the document knows, the document's first sections are the answer.
 */
export function searchSections(sections: readonly Section[], query: string): readonly Section[] {
  const words = new Set(stemsOf(query));
  const named = new Set(
    sections.map(({ document }) => document).filter((document) => [...stemsOf(document)].every((stem) => words.has(stem))),
  );
  const searched = named.size === 0 ? sections : sections.filter(({ document }) => named.has(document));
  for (const document of named) for (const stem of stemsOf(document)) words.delete(stem);
  const found = ranked(searched, words);
  return found.length > 0 || named.size === 0 ? found : searched.slice(0, MOST_RESULTS);
}

/** The section whose title fits best, or undefined when no word of the title is known. */
export function findSection(sections: readonly Section[], title: string): Section | undefined {
  return ranked(
    sections.map((section) => ({ ...section, text: '' })),
    stemsOf(title),
  ).flatMap((found) => sections.filter((section) => section.document === found.document && section.title === found.title))[0];
}

function ranked(sections: readonly Section[], words: ReadonlySet<string>): readonly Section[] {
  return sections
    .map((section) => ({ section, score: scoreOf(section, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, MOST_RESULTS)
    .map(({ section }) => section);
}

function scoreOf(section: Section, words: ReadonlySet<string>): number {
  const title = stemsOf(section.title);
  const text = stemsOf(section.text);
  return [...words].reduce((sum, word) => sum + (title.has(word) ? TITLE_WEIGHT : 0) + (text.has(word) ? 1 : 0), 0);
}
