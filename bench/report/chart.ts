import { CustomChart, type CustomSeriesOption } from 'echarts/charts';
import { GridComponent, LegendComponent } from 'echarts/components';
import { init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import { FLOOR } from '../harness/contestant-process.js';
import type { ScenarioResult } from '../harness/result.js';
import { type Dot, drawnContestants, type Panel, panelsOf } from './chart-data.js';
import { numberText } from './figures.js';

use([CustomChart, GridComponent, LegendComponent, SVGRenderer]);

const WIDTH = 920;
const LABELS = 350;
/** Much narrower than the place for them: fonts differ in width, and the renderer can only guess. */
const LABEL_WIDTH = 250;
const LEGEND_HEIGHT = 24;
const AXIS_HEIGHT = 44;
/** Height of one contestant's line in a row. */
const LINE = 15;
/** All colours are of middle brightness, so that they can be read on white and on black. */
const FONT = 'Helvetica, Arial, sans-serif';
const TEXT = '#767d86';
const GRID = '#8b949e55';
const LIMIT = '#d9363e';
const FLOOR_COLOUR = '#808890';
const COLOURS = ['#2f81f7', '#c46a12', '#2f9a50', '#9463dd', '#0f97a5', '#cf5198', '#97861a', '#6d7df0', '#b0654a'];
const ASKED = 'what the goal asks';

/** Draws a result: for each measure the median of each contestant, the line from the least to the greatest round, and what the goal asks. */
export function chartOf(result: ScenarioResult): string {
  const contestants = drawnContestants(result);
  const colours = coloursOf(contestants);
  const panels = panelsOf(result);
  const rowHeight = Math.max(contestants.length * LINE + 14, 46);
  const legendLines = Math.ceil((contestants.length + 1) / 4);
  let top = legendLines * LEGEND_HEIGHT + 8;
  const grids = panels.map(({ rows }) => {
    const grid = { left: LABELS, right: 70, top, height: rows.length * rowHeight };
    top += grid.height + AXIS_HEIGHT;
    return grid;
  });
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: WIDTH, height: top });
  chart.setOption({
    animation: false,
    textStyle: { fontFamily: FONT, color: TEXT },
    legend: {
      top: 0,
      left: 0,
      icon: 'roundRect',
      itemHeight: 9,
      itemWidth: 12,
      itemGap: 24,
      textStyle: { color: TEXT },
      data: [...contestants, ...(panels.some(({ limits }) => limits.length > 0) ? [ASKED] : [])],
    },
    grid: grids,
    xAxis: panels.map(valueAxis),
    yAxis: panels.map(rowAxis),
    series: panels.flatMap((panel, index) => [
      limitSeries(panel, { index, rowHeight }),
      ...contestants.map((name, line) => {
        const offset = (line - (contestants.length - 1) / 2) * LINE;
        return dotSeries({ name, color: colours.get(name) ?? TEXT, dots: panel.dots.get(name) ?? [], index, offset, panel });
      }),
    ]),
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return `${withoutInteraction(svg).trim()}\n`;
}

/** The floor is grey in every chart, and ours has the first colour. */
function coloursOf(contestants: readonly string[]): ReadonlyMap<string, string> {
  const coloured = contestants.filter((name) => name !== FLOOR.name);
  const colours = coloured.map((name, number) => [name, COLOURS[number % COLOURS.length] ?? TEXT] as const);
  return new Map([...colours, [FLOOR.name, FLOOR_COLOUR]]);
}

/** Takes away what a picture has no use for: styles for a pointer, and names that differ from one drawing to the next. */
function withoutInteraction(svg: string): string {
  return svg
    .replaceAll(/<style[^>]*>[\s\S]*?<\/style>/g, '')
    .replaceAll(/ (?:ecmeta_\w+|class|pointer-events)="[^"]*"/g, '')
    .replaceAll(/zr\d+-/g, 'zr-')
    .replaceAll(/\n\s*\n/g, '\n');
}

function valueAxis({ unit, scale }: Panel, gridIndex: number): object {
  const range = scale === 'linear' ? { type: 'value', min: 0 } : { type: 'log', min: scale.log.from, max: scale.log.to };
  return {
    ...range,
    gridIndex,
    name: `${unit === '' ? 'number' : unit}${scale === 'linear' ? '' : ' (logarithmic)'}`,
    nameLocation: 'middle',
    nameGap: 24,
    nameTextStyle: { color: TEXT },
    axisLabel: { color: TEXT, formatter: numberText },
    splitLine: { lineStyle: { color: GRID } },
  };
}

function rowAxis({ rows }: Panel, gridIndex: number): object {
  return {
    type: 'category',
    gridIndex,
    inverse: true,
    data: rows.map(({ measure }) => measure),
    axisLabel: { color: TEXT, width: LABEL_WIDTH, overflow: 'break', interval: 0, fontSize: 11, lineHeight: 14 },
    axisTick: { show: false },
    axisLine: { lineStyle: { color: GRID } },
    splitLine: { show: true, lineStyle: { color: GRID } },
  };
}

interface Line {
  readonly name: string;
  readonly color: string;
  readonly dots: readonly Dot[];
  readonly index: number;
  /** Pixels below the middle of the row. */
  readonly offset: number;
  readonly panel: Panel;
}

/** One contestant's medians, each with the line from its least to its greatest round and its number after that. */
function dotSeries({ name, color, dots, index, offset, panel }: Line): CustomSeriesOption {
  return {
    type: 'custom',
    name,
    xAxisIndex: index,
    yAxisIndex: index,
    itemStyle: { color },
    silent: true,
    data: dots.map(({ min, median, max, row }) => [...[min, median, max].map((value) => onAxis(value, panel)), row]),
    encode: { x: [0, 1, 2], y: 3 },
    renderItem: ({ dataIndex }, api) => {
      const at = (dimension: number) => api.coord([api.value(dimension), api.value(3)]);
      const [[x1 = 0, middle = 0], [x = 0], [x2 = 0]] = [at(0), at(1), at(2)] as [number[], number[], number[]];
      const y = middle + offset;
      const text = numberText(dots[dataIndex]?.median ?? Number.NaN);
      return {
        type: 'group',
        children: [
          { type: 'line', shape: { x1, x2, y1: y, y2: y }, style: { stroke: color, lineWidth: 2 } },
          { type: 'circle', shape: { cx: x, cy: y, r: 4 }, style: { fill: color } },
          { type: 'text', style: { text, x: x2 + 8, y, verticalAlign: 'middle', fill: TEXT, fontSize: 11, fontFamily: FONT } },
        ],
      };
    },
  };
}

function limitSeries(panel: Panel, { index, rowHeight }: { index: number; rowHeight: number }): CustomSeriesOption {
  return {
    type: 'custom',
    name: ASKED,
    silent: true,
    xAxisIndex: index,
    yAxisIndex: index,
    itemStyle: { color: LIMIT },
    data: panel.limits.map(({ value, row }) => [onAxis(value, panel), row]),
    renderItem: (_params, api) => {
      const [x = 0, y = 0] = api.coord([api.value(0), api.value(1)]);
      const half = rowHeight / 2 - 2;
      return { type: 'line', shape: { x1: x, x2: x, y1: y - half, y2: y + half }, style: { stroke: LIMIT, lineWidth: 2 } };
    },
  };
}

function onAxis(value: number, { scale }: Panel): number {
  return scale === 'linear' ? value : Math.max(value, scale.log.from);
}
