import type { SpokenVocabulary } from '../platform/controlPlane/routes/vocabularyEdge.ts';
import { startPlatform } from '../platform/platform.ts';
import type { CommandContext } from './context.ts';
import { printError } from './errorReport.ts';
import { jsonLine } from './output.ts';
import { platformOptionsOf } from './platform/platformOptions.ts';

/** How `slipway platform` was called. */
export interface PlatformCommandOptions {
  /** 0 takes a free one. */
  port: number;
  home: string;
  /** Default `127.0.0.1`. */
  host?: string;
  /** One JSON object per line instead of readable text. */
  json: boolean;
  /** Any Postgres; default: the embedded one. */
  databaseUrl?: string;
  /** Whose names the control plane speaks. Default: `both`. */
  vocabulary?: SpokenVocabulary;
  /** Requests a second of each key, in the long run; 0: any number. Default: 500. */
  rateLimit?: number;
  /** Requests of each key at once. Default: ten seconds of them. */
  rateBurst?: number;
  /** Of a request to the control plane, in MB (1,048,576 bytes). Default: 1. */
  maxBody?: number;
  /** Of an upload, in MB. Default: 200. */
  maxUpload?: number;
  /** How long the record of changes is kept, in days. Default: 365. */
  keepAudit?: number;
  /** Start although home and database do not belong together. */
  adoptDatabase?: boolean;
}

/**
 * `slipway platform`: the platform alone, until SIGTERM or SIGINT. Prints `{"event":"ready","controlPlane":"http://…",
 * "apiKey":"…"}` (or a readable line) once it answers; the first signal drains it and ends the process with 0, a
 * second one ends it at once. It ends with the error's exit code when another platform takes its database. What it reads from the environment: `platformOptionsOf`.
 * @throws SlipwayError as `startPlatform` and `platformOptionsOf` do.
 */
export async function runPlatformCommand(
  options: PlatformCommandOptions,
  { output }: CommandContext,
): Promise<void> {
  const platform = await startPlatform(platformOptionsOf(options, process.env));
  const signaled = new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.once(signal, () => {
        process.once(signal, () => process.exit(130));
        resolve();
      });
    }
  });
  process.stdout.write(
    options.json
      ? jsonLine({ event: 'ready', controlPlane: platform.url, apiKey: platform.apiKey })
      : `The platform is ready at ${platform.url}. Its API key is in ${options.home}/api.key, unless it was given.\n`,
  );
  // Not closed in good order: all that this process would still write belongs to the other platform.
  void platform.lost.then((error) => process.exit(printError(output, error)));
  await signaled;
  await platform.close();
  process.exitCode = 0;
}
