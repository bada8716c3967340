import { isRecord } from './json.ts';

/** A graph of a graph configuration: its name and location. */
export interface NamedGraph {
  readonly name: string;
  readonly path: string;
}

const PYTHON = /\.py:/;
const SCRIPT = /\.[cm]?[jt]sx?:/;

/**
 * The first Python graph of a graph configuration: its file ends in `.py`, or the configuration has `python_version`
 * or `dependencies` and no JavaScript or TypeScript graph. Undefined for other agents, and for an invalid
 * configuration.
 */
export function pythonGraphOf(config: unknown): NamedGraph | undefined {
  if (!isRecord(config) || !isRecord(config['graphs'])) return undefined;
  const graphs = Object.entries(config['graphs']).map(([name, entry]): NamedGraph => {
    const path = isRecord(entry) ? entry['path'] : entry;
    return { name, path: typeof path === 'string' ? path : '' };
  });
  const named = graphs.find(({ path }) => PYTHON.test(path));
  if (named !== undefined || graphs.some(({ path }) => SCRIPT.test(path))) return named;
  const isPython = config['python_version'] !== undefined || config['dependencies'] !== undefined;
  return isPython ? graphs[0] : undefined;
}

/** The text for such a graph. */
export function pythonGraphText({ name, path }: NamedGraph): string {
  return `the graph "${name}" (${path}) is written in Python, and the platform that Slipway includes runs JavaScript and TypeScript agents`;
}
