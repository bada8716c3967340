import { createServer, type Server } from 'node:net';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { choosePort } from '../../../../src/cli/commands/dev/ports.ts';
import { listen } from '../../../support/listen.ts';

let taken: Server;
let port: number;
beforeEach(async () => {
  taken = createServer();
  port = Number(new URL(await listen(taken)).port);
});
afterEach(() => {
  taken.close();
});

describe('choosing a port', () => {
  it('fails if the requested one is in use', async () => {
    await expect(choosePort({ option: '--port', asked: port, preferred: 1 })).rejects.toMatchObject({
      code: 'SLIPWAY_PORT_UNAVAILABLE',
      message: `another process listens on port ${port}`,
      hint: 'choose another one with --port; --port 0 takes a free one',
    });
  });

  it('takes another one if the preferred one is in use', async () => {
    const chosen = await choosePort({ option: '--port', asked: undefined, preferred: port });
    expect(chosen).not.toBe(port);
    expect(chosen).toBeGreaterThan(0);
  });

  it('takes any free one for 0', async () => {
    expect(await choosePort({ option: '--port', asked: 0, preferred: port })).not.toBe(port);
  });

  it('takes the preferred one if it is free', async () => {
    await new Promise((resolve) => taken.close(resolve));
    expect(await choosePort({ option: '--port', asked: undefined, preferred: port })).toBe(port);
  });
});
