import type { S3 } from '@aws-sdk/client-s3';

import type { S3Place } from '../../domain/artifact/storeUrl.ts';

/** How long a connection may take to be made, in milliseconds. */
const CONNECT_MS = 5_000;
/** How long a connection may be silent in the middle of a request, in milliseconds. A slow line may take its time. */
const SILENCE_MS = 30_000;

const clients = new Map<string, Promise<S3>>();

/**
 * The client of a place, one for each service in the process, so that connections are kept. The SDK is loaded when it
 * is first called: who keeps artifacts in a folder does not pay for it. Region, endpoint, credentials, retries: what the
 * place does not say comes from the SDK's own settings (`AWS_…`, `~/.aws`, the machine's role).
 */
export function connectS3({ endpoint, region, pathStyle }: S3Place): Promise<S3> {
  const key = JSON.stringify([endpoint, region, pathStyle]);
  let client = clients.get(key);
  if (client === undefined) {
    client = create();
    clients.set(key, client);
  }
  return client;

  async function create(): Promise<S3> {
    // It tells everybody on Node 20 that its own later versions will not run there: this one does.
    process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';
    const sdk = await import('./sdk.ts');
    return new sdk.S3({
      requestHandler: { connectionTimeout: CONNECT_MS, socketTimeout: SILENCE_MS },
      ...(endpoint === undefined ? {} : { endpoint }),
      ...(region === undefined ? {} : { region }),
      ...(pathStyle === undefined ? {} : { forcePathStyle: pathStyle }),
    });
  }
}
