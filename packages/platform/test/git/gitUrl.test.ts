import { describe, expect, it } from 'vitest';

import { type GitUrl, isUnder, readGitUrl, repositoryIdentity } from '../../src/git/gitUrl.ts';

function urlOf(text: string): GitUrl {
  const reading = readGitUrl(text);
  if (!reading.ok) throw new Error(`${text} ${reading.why}`);
  return reading.url;
}

describe('the address of a repository', () => {
  it.each([
    [
      'https://github.com/acme/agent.git',
      { protocol: 'https', host: 'github.com', path: ['acme', 'agent.git'] },
    ],
    ['https://git.example:8443/a', { protocol: 'https', host: 'git.example', port: '8443', path: ['a'] }],
    ['http://127.0.0.1:3000/a.git', { protocol: 'http', host: '127.0.0.1', port: '3000' }],
    ['ssh://git@git.example:2222/a/b', { protocol: 'ssh', user: 'git', port: '2222', path: ['a', 'b'] }],
    [
      'git@github.com:acme/agent.git',
      { protocol: 'ssh', user: 'git', host: 'github.com', path: ['acme', 'agent.git'] },
    ],
    ['file:///srv/git/agent', { protocol: 'file', host: '', path: ['srv', 'git', 'agent'] }],
    ['/srv/git/agent', { protocol: 'file', path: ['srv', 'git', 'agent'] }],
  ])('is accepted: %s', (text, expected) => {
    expect(urlOf(text)).toMatchObject({ ...expected, text });
  });

  it.each([
    ['-oProxyCommand=id', /hyphen/],
    ['--upload-pack=id', /hyphen/],
    ['ext::sh -c id', /blanks/],
    ['ext::sh', /neither/],
    ['fd::17', /neither/],
    ['git://git.example/a', /neither/],
    ['ftp://git.example/a', /neither/],
    ['git.example:a', /neither/],
    ['../a', /neither/],
    ['a', /neither/],
    ['https://token@github.com/a', /carries a user/],
    ['https://user:token@github.com/a', /carries a user/],
    ['ssh://git:password@git.example/a', /carries a user/],
    ['ssh://-oProxyCommand=id/a', /./],
    ['git@-oProxyCommand=id:a', /neither/],
    ['http://git.example/a', /use https/],
    ['file://host/srv/git', /host/],
    ['https://git.example/a/../b', /"\.\."/],
    ['https://git.example/a/%2e%2E/b', /"\.\."/],
    ['/srv/git/../etc', /"\.\."/],
    ['https://git.example/a%2fb', /encoded/],
    ['https://git.example/a?b=c', /query/],
    ['https://git.example/a\nb', /control/],
    ['https://git.example\\a', /backslash/],
  ])('is rejected: %j', (text, why) => {
    const reading = readGitUrl(text);
    expect(reading.ok ? undefined : reading.why).toMatch(why);
  });
});

describe('a prefix', () => {
  it.each([
    ['https://github.com/acme/', 'https://github.com/acme/agent.git'],
    ['https://github.com/acme', 'https://GitHub.com/acme/agent'],
    ['https://github.com', 'https://github.com/acme/agent'],
    ['git@github.com:acme', 'git@github.com:acme/agent'],
    ['/srv/git', 'file:///srv/git/agent'],
  ])('%s covers %s', (prefix, url) => {
    expect(isUnder(urlOf(prefix), urlOf(url))).toBe(true);
  });

  it.each([
    ['https://github.com/acme', 'https://github.com/acme-2/agent'],
    ['https://github.com/acme', 'https://github.com/acm'],
    ['https://github.com', 'https://github.com.evil.example/acme/agent'],
    ['https://github.com', 'https://github.com:8443/acme/agent'],
    ['https://github.com', 'ssh://git@github.com/acme/agent'],
    ['git@github.com:acme', 'other@github.com:acme/agent'],
    ['http://127.0.0.1:3000', 'http://127.0.0.1:3001/a'],
  ])('%s does not cover %s', (prefix, url) => {
    expect(isUnder(urlOf(prefix), urlOf(url))).toBe(false);
  });
});

it('One repository has one identity for all of its addresses', () => {
  const identities = [
    'https://github.com/Acme/agent.git',
    'git@github.com:acme/agent',
    'ssh://git@github.com:22/acme/agent.git',
  ];
  expect(new Set(identities.map((text) => repositoryIdentity(urlOf(text))))).toEqual(
    new Set(['github.com/acme/agent']),
  );
});
