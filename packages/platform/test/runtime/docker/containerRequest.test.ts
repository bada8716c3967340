import { describe, expect, it } from 'vitest';

import { type ContainerRequest, runCall } from '../../../src/runtime/docker/containerRequest.ts';

function call(more: Partial<ContainerRequest> = {}): {
  args: string;
  env: Record<string, string>;
  input: string;
} {
  const owner = { platform: 'p', process: 'q', deploymentId: 'd', revisionId: 'r' };
  const { args, ...rest } = runCall({
    name: 'n',
    image: 'i',
    owner,
    env: {},
    resources: {},
    cores: 2,
    ...more,
  });
  return { args: args.join(' '), ...rest };
}

describe('what the docker command is asked for', () => {
  it('is a container of that name and owner, with its port on loopback', () => {
    expect(call().args).toBe(
      'run --detach --name n --label slipway.platform=p --label slipway.process=q --label slipway.deployment=d --label slipway.revision=r --publish 127.0.0.1::8000 --env-file /dev/stdin --pull never i',
    );
  });

  it.each([
    [{ cpu: 1.5 }, '--cpu-shares 1536'],
    [{ cpu_limit: 1.5 }, '--cpus 1.5'],
    [{ cpu_limit: 3 }, '--cpus 2'],
    [{ memory_mb: 256 }, '--memory-reservation 256m'],
    [{ memory_limit_mb: 512 }, '--memory 512m'],
    [{ memory_mb: 1024, memory_limit_mb: 512 }, '--memory-reservation 512m --memory 512m'],
    [{ labels: { team: 'agents', 'slipway.platform': 'x' } }, '--label team=agents'],
    [{ cpu: 0, cpu_limit: null, memory_mb: 0, memory_limit_mb: 0 }, ''],
  ])('has of the resources %j: %s', (resources, args) => {
    const [, given = ''] = /--env-file \/dev\/stdin ?(.*?) ?--pull/.exec(call({ resources }).args) ?? [];
    expect(given).toBe(args);
  });

  it.each([
    ['2024', '2024'],
    ['none', '8000'],
    ['70000', '8000'],
  ])('publishes, where the secret PORT is %s, port %s, and tells it', (PORT, port) => {
    const { args, input } = call({ env: { PORT } });
    expect(args).toContain(`--publish 127.0.0.1::${port}`);
    expect(input).toBe(`PORT=${port}\n`);
  });
});

describe('a variable of the container', () => {
  it('is a line of the file where it fits one, and else in the environment of the command', () => {
    const long = 'x'.repeat(65_000);
    const { args, env, input } = call({
      env: { ONE: ' a "b" $c ', 'my.key': 'm', HOME: '/h', KEY: 'two\nlines', LONG: long },
    });
    expect(input).toBe('ONE= a "b" $c \nmy.key=m\nHOME=/h\nPORT=8000\n');
    expect(env).toEqual({ KEY: 'two\nlines', LONG: long });
    expect(args).toContain('--env KEY --env LONG');
  });

  it.each(['HTTP_PROXY', 'DOCKER_HOST', 'my.key', '#ODD'])(
    'cannot be %s of several lines, and is named',
    (name) => {
      expect(() => call({ env: { [name]: 'one\ntwo' } })).toThrow(
        `The secret ${name} cannot be given to a container`,
      );
      expect(() => call({ env: { [name]: 'one\ntwo' } })).not.toThrow('two');
    },
  );
});
