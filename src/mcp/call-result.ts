import { isSpecType } from '@modelcontextprotocol/client';
import type { JsonObject } from '../core/tool.js';
import { isObject } from './rpc-message.js';

/** The longest piece of a block's own type that a note about it repeats. */
const MAX_TYPE_LENGTH = 40;

/**
 * Puts the result of `tools/call` into the form that the SDK insists on. The tool has run, so what can be read of its result counts
 * (CONTRACT.md 7.7): each block that cannot is replaced by a text that names it, and fields that only the SDK minds are mended or left out.
 */
export function readableResult(result: JsonObject): JsonObject {
  const { content, structuredContent, isError, _meta, ...rest } = result;
  // In the 2026 era a result may be a question in place of an answer; that is for the SDK to refuse.
  if (rest.resultType !== undefined && rest.resultType !== 'complete') return result;
  const blocks = blocksOf(content);
  // Structured content is an object (MCP specification, "Structured Content"); anything else is shown as what it is.
  const hasStructure = isObject(structuredContent);
  if (!hasStructure && structuredContent !== undefined && structuredContent !== null && blocks.length === 0)
    blocks.push(textBlock(JSON.stringify(structuredContent)));
  return {
    ...rest,
    content: blocks,
    ...(hasStructure && { structuredContent }),
    ...((isError === true || isError === 'true') && { isError: true }),
    ...(isObject(_meta) && { _meta }),
  };
}

function blocksOf(content: unknown): JsonObject[] {
  if (content === undefined || content === null) return [];
  if (Array.isArray(content)) return content.map(readableBlock);
  if (isObject(content)) return [readableBlock(content)];
  return [textOf(content) ?? unreadable(content)];
}

function readableBlock(block: unknown): JsonObject {
  if (!isObject(block)) return textOf(block) ?? unreadable(block);
  if (isSpecType.ContentBlock(block)) return block;
  const mended = mend(block);
  return mended !== undefined && isSpecType.ContentBlock(mended) ? mended : unreadable(block);
}

/** The block from those of its fields that matter, with what often lacks filled in; undefined when there is nothing to go by. */
function mend({ type, text, data, mimeType, uri, name, title, description, resource }: JsonObject): JsonObject | undefined {
  switch (type) {
    case undefined:
    case 'text':
      return textOf(text);
    case 'image':
      return { type, data, mimeType: stringOf(mimeType) ?? 'image/png' };
    case 'audio':
      return { type, data, mimeType: stringOf(mimeType) ?? 'audio/wav' };
    case 'resource_link': {
      const texts = { title: stringOf(title), description: stringOf(description), mimeType: stringOf(mimeType) };
      return { type, uri, name: stringOf(name) ?? uri, ...known(texts) };
    }
    case 'resource': {
      if (!isObject(resource)) return undefined;
      const body = typeof resource.text === 'string' ? { text: resource.text } : { blob: resource.blob };
      return { type, resource: { uri: stringOf(resource.uri) ?? '', ...known({ mimeType: stringOf(resource.mimeType) }), ...body } };
    }
    default:
      return undefined;
  }
}

function textOf(value: unknown): JsonObject | undefined {
  if (typeof value === 'string') return textBlock(value);
  return typeof value === 'number' || typeof value === 'boolean' ? textBlock(String(value)) : undefined;
}

function unreadable(block: unknown): JsonObject {
  const type = isObject(block) ? stringOf(block.type) : undefined;
  const what = type === undefined ? 'A part' : `A part of type ${JSON.stringify(type.slice(0, MAX_TYPE_LENGTH))}`;
  return textBlock(`[${what} of this result cannot be read. The tool has run.]`);
}

function textBlock(text: string): JsonObject {
  return { type: 'text', text };
}

function stringOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** Without the fields that are undefined. */
function known(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
