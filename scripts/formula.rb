# Installs a Homebrew formula as brew would, from the archives of a release that lie beside it, and runs its test: enough of brew's language for one formula.
# usage: ruby formula.rb FORMULA FOLDER      (installs into FOLDER)
require 'digest'
require 'fileutils'
require 'pathname'
require 'rbconfig'

FORMULA = Pathname(ARGV.fetch(0)).expand_path
HOST = [RbConfig::CONFIG['host_os'][/darwin/] ? :macos : :linux, RbConfig::CONFIG['host_cpu'][/arm|aarch64/] ? :arm : :intel]

class Formula
  DOWNLOADS = {}
  class << self
    attr_reader :installed, :tested

    def desc(*) = nil
    alias homepage desc
    alias license desc
    def version(text = @version) = @version = text
    def url(text) = @url = text
    def sha256(text) = DOWNLOADS[[@os, @cpu]] = [@url, text]
    def test(&block) = @tested = block

    { on_macos: :macos, on_linux: :linux }.each { |name, os| define_method(name) { |&block| @os = os; block.call } }
    { on_arm: :arm, on_intel: :intel }.each { |name, cpu| define_method(name) { |&block| @cpu = cpu; block.call } }
    def inherited(formula) = (super; @installed = formula)
  end

  # A folder of the cellar.
  Folder = Struct.new(:path) do
    def install(*what)
      what.flatten.flat_map { |w| w.is_a?(Hash) ? w.to_a : [[w, File.basename(w)]] }.each do |from, to|
        FileUtils.mkdir_p(path)
        FileUtils.mv(from, path / to) # fails if it is not there
      end
    end

    def /(name) = path / name
    def to_s = path.to_s
  end
  CELLAR = Pathname(ARGV.fetch(1)).expand_path
  { bin: 'bin', man1: 'share/man/man1', bash_completion: 'etc/bash_completion.d', zsh_completion: 'share/zsh/site-functions',
    fish_completion: 'share/fish/vendor_completions.d' }.each { |name, path| define_method(name) { Folder.new(CELLAR / path) } }

  def version = self.class.version
  def testpath = (CELLAR / 'test').tap(&:mkpath)
  def shell_output(command) = `#{command}`.tap { $?.success? or abort "formula: #{command} failed" }
  def system(*command) = Kernel.system(*command.map(&:to_s), out: File::NULL) || abort("formula: #{command.join(' ')} failed")
  def assert_match(text, output) = output.include?(text) || abort("formula: #{output.inspect} lacks #{text}")
end

load FORMULA
formula = Formula.installed
abort "formula: #{Formula::DOWNLOADS.keys} are the platforms" unless Formula::DOWNLOADS.keys.sort == %i[linux macos].product(%i[arm intel])
Formula::DOWNLOADS.each do |(os, cpu), (url, sum)|
  name = "yardmaster_#{formula.version}_#{{ macos: 'darwin' }.fetch(os, os)}_#{{ arm: 'arm64', intel: 'amd64' }[cpu]}.tar.gz"
  want = "https://github.com/yardmaster/yardmaster/releases/download/v#{formula.version}/#{name}"
  abort "formula: #{os} #{cpu} downloads #{url}, not #{want}" unless url == want
  archive = FORMULA.dirname / name
  next if !archive.exist? && [os, cpu] != HOST # a release for this platform alone
  abort "formula: #{name} does not have the checksum #{sum.inspect}" unless Digest::SHA256.file(archive).hexdigest == sum
end

source = (Formula::CELLAR / 'source').tap(&:mkpath)
archive = FORMULA.dirname / File.basename(Formula::DOWNLOADS.fetch(HOST).first)
system('tar', 'xzf', archive.to_s, '-C', source.to_s, '--strip-components=1') or abort 'formula: the archive does not unpack'
Dir.chdir(source) { formula.new.install }
formula.new.instance_eval(&formula.tested)
puts Formula::CELLAR / 'test' / 'demo.html'
