import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Folders without pages of this project: what was installed, built or recorded, and the texts that the demo searches. */
const SKIPPED = new Set(['node_modules', 'dist', '.git', 'data']);

export interface Page {
  /** From the root of the repository. */
  readonly path: string;
  readonly text: string;
  /** The text without its fenced blocks of code. */
  readonly prose: string;
  readonly blocks: readonly { readonly language: string; readonly text: string }[];
}

/** Every Markdown page of the repository, sorted by path. */
export function readPages(): Page[] {
  return pathsUnder('.').sort().map(readPage);
}

function readPage(path: string): Page {
  const text = readFileSync(path, 'utf8');
  const blocks = [...text.matchAll(/^( *)```([\w-]*)\n([\s\S]*?)^ *```$/gm)].map(([, indent = '', language = '', inside = '']) => ({
    language,
    text: inside.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }));
  return { path, text, prose: text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, ''), blocks };
}

function pathsUnder(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : pathsUnder(path);
    return entry.name.endsWith('.md') ? [path] : [];
  });
}

/** Everything that a page writes in backticks, apart from its blocks of code. */
export function codeIn({ prose }: Page): string[] {
  return [...prose.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);
}

/** The anchors of a page's headings, as GitHub makes them. */
export function anchorsOf({ prose }: Page): string[] {
  const seen = new Map<string, number>();
  return [...prose.matchAll(/^#{1,6} +(.+?) *#*$/gm)].map(([, heading = '']) => {
    const slug = heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
      .replaceAll(' ', '-');
    const before = seen.get(slug) ?? 0;
    seen.set(slug, before + 1);
    return before === 0 ? slug : `${slug}-${before}`;
  });
}
