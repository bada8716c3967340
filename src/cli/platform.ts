import { buildLimitsFrom } from '../platform/builder/buildLimits.ts';
import { type SpokenVocabulary } from '../platform/controlPlane/routes/vocabularyEdge.ts';
import { startPlatform } from '../platform/platform.ts';

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
}

/**
 * `slipway platform`: the platform alone, until SIGTERM or SIGINT. Prints `{"event":"ready","controlPlane":"http://…",
 * "apiKey":"…"}` (or a readable line) once it answers; the first signal drains it and ends the process with 0, a
 * second one ends it at once. Read from the environment: `SLIPWAY_PUBLIC_URL`, `SLIPWAY_READY_TIMEOUT_MS`,
 * `SLIPWAY_PLATFORM_API_KEY` (default: a key of its own, kept in the home), `SLIPWAY_GIT_POLL_MS` (how often followed
 * branches are asked about; 0: never), `SLIPWAY_DOCKER` (the command that images are run with; default: `docker`), and
 * the limits of builds (`BUILD_LIMIT_SETTINGS`).
 * @throws SlipwayError as `startPlatform` does.
 */
export async function runPlatformCommand(options: PlatformCommandOptions): Promise<void> {
  const publicUrl = process.env['SLIPWAY_PUBLIC_URL'];
  const apiKey = process.env['SLIPWAY_PLATFORM_API_KEY'];
  const docker = process.env['SLIPWAY_DOCKER'];
  const readyTimeoutMs = Number(process.env['SLIPWAY_READY_TIMEOUT_MS'] ?? Number.NaN);
  const gitPollMs = Number(process.env['SLIPWAY_GIT_POLL_MS'] || Number.NaN);
  const platform = await startPlatform({
    home: options.home,
    port: options.port,
    buildLimits: buildLimitsFrom(process.env),
    ...(options.host === undefined ? {} : { host: options.host }),
    ...(options.databaseUrl === undefined ? {} : { databaseUrl: options.databaseUrl }),
    ...(options.vocabulary === undefined ? {} : { vocabulary: options.vocabulary }),
    ...(docker === undefined || docker === '' ? {} : { dockerCommand: docker }),
    ...(apiKey === undefined || apiKey === '' ? {} : { apiKey }),
    ...(publicUrl === undefined || publicUrl === '' ? {} : { publicUrl }),
    ...(Number.isFinite(readyTimeoutMs) && readyTimeoutMs > 0 ? { readyTimeoutMs } : {}),
    ...(gitPollMs >= 0 ? { gitPollMs } : {}),
  });
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
      ? `${JSON.stringify({ event: 'ready', controlPlane: platform.url, apiKey: platform.apiKey })}\n`
      : `The platform is ready at ${platform.url}. Its API key is in ${options.home}/api.key, unless it was given.\n`,
  );
  await signaled;
  await platform.close();
  process.exitCode = 0;
}
