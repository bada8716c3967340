import { resolve } from 'node:path';

/**
 * The folder that holds Slipway's state on this machine: `SLIPWAY_HOME`, or `.slipway` in the working folder.
 *
 * @returns an absolute path. The folder need not exist.
 */
export function slipwayHome(environment: Readonly<Record<string, string | undefined>> = process.env): string {
  const configured = environment['SLIPWAY_HOME'];
  return resolve(configured === undefined || configured === '' ? '.slipway' : configured);
}
