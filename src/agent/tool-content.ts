import type { ToolCallResult } from '../core/ports.js';
import type { JsonObject } from '../core/tool.js';

/** A content block as LangChain's messages take it. */
export type ModelBlock = { type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string } };

/**
 * How images in a tool's result are handed to the model. OpenAI's chat completions refuse a whole conversation that has an image in
 * a tool message, so an image is only described there.
 */
export type ImageForm = 'block' | 'described';

/** Turns the MCP content blocks of a tool's result into what the model reads. Structured content is used only where there is no other content. */
export function modelContent(result: ToolCallResult, images: ImageForm): string | ModelBlock[] {
  const blocks = result.content.map((block) => modelBlock(block, images));
  const hasText = result.content.some((block) => block.type === 'text' && block.text !== '');
  if (!hasText && result.structuredContent !== undefined) blocks.push({ type: 'text', text: JSON.stringify(result.structuredContent) });
  if (blocks.some((block) => block.type === 'image_url')) return blocks;
  return blocks.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
}

function modelBlock(block: JsonObject, images: ImageForm): ModelBlock {
  if (block.type === 'text') return text(stringOf(block.text));
  if (block.type === 'image') {
    const mime = stringOf(block.mimeType) || 'image/png';
    const data = stringOf(block.data);
    return images === 'block'
      ? { type: 'image_url', image_url: { url: `data:${mime};base64,${data}` } }
      : text(`[image, ${mime}, ${sizeOf(data)}]`);
  }
  if (block.type === 'audio') return text(`[audio, ${stringOf(block.mimeType)}, ${sizeOf(stringOf(block.data))}]`);
  if (block.type === 'resource') return text(resourceText(block.resource));
  if (block.type === 'resource_link') {
    return text(
      [`[link] ${stringOf(block.uri)}`, stringOf(block.title) || stringOf(block.name), stringOf(block.description)]
        .filter(Boolean)
        .join(' – '),
    );
  }
  return text(`[${stringOf(block.type) || 'unknown content'}]`);
}

function resourceText(resource: unknown): string {
  if (typeof resource !== 'object' || resource === null) return '[resource]';
  const { uri, text: body, mimeType, blob } = resource as JsonObject;
  if (typeof body === 'string') return body;
  return `[resource ${stringOf(uri)}, ${stringOf(mimeType) || 'binary'}, ${sizeOf(stringOf(blob))}]`;
}

function text(value: string): ModelBlock {
  return { type: 'text', text: value };
}

function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The size of base64 data, for people. */
function sizeOf(base64: string): string {
  const bytes = Math.floor((base64.length * 3) / 4);
  return bytes < 1024 ? `${bytes} bytes` : `${Math.round(bytes / 1024)} kB`;
}
