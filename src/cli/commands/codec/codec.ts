import { isLoopback } from '../../../config/httpsUrl.ts';
import { PAYLOAD_KEYS } from '../../../config/payloadKeys.ts';
import { keySetting } from '../../../config/secretReference.ts';
import { serve } from '../../../dashboard/listen.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import { temporalSettings } from '../../../temporal/client/temporalSettings.ts';
import type { CommandContext } from '../../context.ts';
import { exitWithParent, interruptible, untilAborted } from '../../interruption.ts';
import { codecRoutes } from './codecServer.ts';

interface CodecOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** The origins of pages that may call it. Default: Temporal's UI, if known. */
  readonly origin?: readonly string[];
}

const CODEC_KEY = 'SLIPWAY_CODEC_KEY';

/**
 * `slipway codec`: decrypts payloads for Temporal's UI and CLI, until SIGTERM or SIGINT. Prints
 * `{"event":"ready","codec":"http://…"}` once it accepts requests. With `SLIPWAY_EXIT_WITH_PARENT=1` it also ends when
 * its stdin does.
 */
export async function runCodecCommand(
  { output, home, environment }: CommandContext,
  { host, port, origin }: CodecOptions,
): Promise<number> {
  const { codec, ui } = await temporalSettings(home, environment);
  if (codec === undefined) {
    throw new SlipwayError('SLIPWAY_PAYLOAD_KEYS_INVALID', 'there are no payload keys to decrypt with', {
      place: PAYLOAD_KEYS,
      hint: `set ${PAYLOAD_KEYS} as the worker has it`,
    });
  }
  const key = keySetting(environment, CODEC_KEY);
  if (key === undefined && !isLoopback(host)) {
    throw new SlipwayError('SLIPWAY_CODEC_OPEN', `every client that reaches ${host} could decrypt payloads`, {
      place: CODEC_KEY,
      hint: `set a key, ${CODEC_KEY}="$(openssl rand -hex 24)", or listen on this machine only: slipway codec --host 127.0.0.1`,
    });
  }
  const origins = (origin ?? (ui === null ? [] : [ui])).map(originOf);
  exitWithParent(environment);
  return interruptible(async (signal) => {
    const server = await serve(codecRoutes({ codec, key, origins }), host, port);
    output.event({ event: 'ready', codec: server.url });
    output.print(`The codec server is at ${server.url}`);
    output.print(`Pages that may call it: ${origins.length === 0 ? 'none' : origins.join(', ')}`);
    await untilAborted(signal);
    await server.close();
    return 0;
  });
}

function originOf(url: string): string {
  if (/^https?:\/\//u.test(url) && URL.canParse(url)) return new URL(url).origin;
  throw new SlipwayError('SLIPWAY_USAGE', `"${url}" is not the address of a page`, {
    place: '--origin',
    hint: 'write it as browsers show it: --origin https://temporal.example.com',
  });
}
